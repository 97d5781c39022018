#pragma once
// Which forms of an instruction are emulated. The decoder asks this table before it decodes anything that is not a lane
// operation, and docs/ptx-forms.md is printed from it: an instruction with a modifier that nobody has thought of is
// unsupported by name, never taken for the form without it.

#include <string>
#include <vector>

#include "kernel/emulate/ptx_module.h"

namespace kw {

// One modifier out of `choices`; most groups may be left out.
struct ModifierGroup {
  std::vector<std::string> choices;
  bool optional = false;
};
struct InstructionForms {
  std::string opcode;
  std::vector<ModifierGroup> groups;
};

// Everything but the lane operations, in the order of the table.
const std::vector<InstructionForms>& instruction_forms();

// Nothing is said about operands: those are the decoder's.
bool has_known_form(const PtxInstruction& instruction);

// A page of Markdown: the lane operations and the rest.
std::string supported_forms_page();

}  // namespace kw
