#pragma once
// Which instructions programs use: opcode forms ("ld.global.nc.v4.f32") and how often they stand in the text.

#include <cstdint>
#include <map>
#include <string>

#include "kernel/emulate/ptx_module.h"

namespace kw {

using PtxForms = std::map<std::string, std::uint64_t>;

void add_ptx_forms(const PtxModule& module, PtxForms& forms);

// A line each, "  count form", most frequent first and then by name.
std::string ptx_forms_text(const PtxForms& forms);

}  // namespace kw
