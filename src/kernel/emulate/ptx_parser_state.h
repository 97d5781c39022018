#pragma once
// What the parts of the PTX parser share; only ptx_parser*.cpp include this. A parsing step returns false after it has
// called fail(); then the steps around it return too.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/emulate/ptx_lexer.h"
#include "kernel/emulate/ptx_module.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/emulate/ptx_parser_lines.h"
#include "kernel/emulate/ptx_parser_names.h"

namespace kw {

struct PtxParser {
  explicit PtxParser(std::string_view text) : lexer(text) {}

  PtxLexer lexer;
  PtxModule module;
  PtxSourceLines lines;
  PtxScopedNames module_names;
  int location = -1;  // the number of the .loc in force; instructions hold it in origin.line until the end
  Error error;        // the first one

  std::size_t instructions = 0;
  std::size_t operands = 0;
  std::size_t registers = 0;
  std::size_t variables = 0;
  std::uint64_t initial_bytes = 0;
};

// A use of a label whose instruction may come later.
struct PtxLabelUse {
  std::string_view text;
  int scope = 0;
  std::uint32_t line = 0;
  int instruction = 0;
};

struct PtxIndexedBranch {
  int table = 0;
  int instruction = 0;
};

// The function whose body is being read.
struct PtxFunctionBody {
  PtxFunction* function = nullptr;
  PtxScopedNames names;            // variables, parameters and single registers
  PtxScopedNames register_ranges;  // by prefix
  std::size_t single_registers = 0;
  PtxLabels labels;
  std::vector<PtxLabelUse> branches;  // operands[0] of the instruction becomes the label
  std::vector<PtxIndexedBranch> indexed_branches;
  std::vector<std::vector<PtxLabelUse>> tables;  // .branchtargets
};

// --- errors (ptx_parser.cpp)
bool fail(PtxParser& parser, const PtxToken& at, std::string message);
bool fail(PtxParser& parser, std::string message);  // at the current token
bool fail_at_line(PtxParser& parser, std::uint32_t line, std::string message);
bool fail_unsupported(PtxParser& parser, const PtxToken& at, std::string message);

// --- tokens (ptx_parser.cpp)
bool expect(PtxParser& parser, char punctuation);
bool accept(PtxParser& parser, char punctuation);
bool expect_identifier(PtxParser& parser, std::string_view what, std::string_view& text);
bool expect_count(PtxParser& parser, std::string_view what, std::uint64_t most, std::uint64_t& value);
bool skip_to_semicolon(PtxParser& parser);  // past it
bool skip_parentheses(PtxParser& parser);   // from the opening one on

// --- constant expressions (ptx_parser_constant.cpp)
struct PtxConstant {
  std::uint64_t bits = 0;  // of the integer, or of a double
  bool is_floating = false;
  bool is_single = false;
  bool is_unsigned = false;
};
bool parse_constant(PtxParser& parser, PtxConstant& constant);
bool parse_integer_constant(PtxParser& parser, std::int64_t& value);

// --- declarations (ptx_parser_variable.cpp, ptx_parser_initial.cpp)
struct PtxLinkage {
  bool external = false;
};
std::optional<PtxSpace> declared_space(const PtxToken& token);  // .global, .shared, ...
// One variable after its space: type, alignment, name, dimensions. Not yet in any scope.
struct PtxDeclarator {
  PtxVariable variable;
  std::string_view name;
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> dimensions;  // empty: not an array; the first is 0 for x[]
};
bool parse_variable_type(PtxParser& parser, PtxDeclarator& declarator);
bool parse_variable_name(PtxParser& parser, PtxDeclarator& declarator);
bool parse_initial(PtxParser& parser, PtxFunctionBody* body, PtxDeclarator& declarator);  // after the `=`
// `.shared .align 4 .b8 a[4], b[4];`, from the space on. body null: module scope.
bool parse_variables(PtxParser& parser, PtxFunctionBody* body, PtxLinkage linkage);
bool parse_registers(PtxParser& parser, PtxFunctionBody& body);  // after `.reg`
bool declare_register(PtxParser& parser, PtxFunctionBody& body, const PtxToken& at, std::string_view name,
                      PtxType type);
bool count_variable(PtxParser& parser);
// The name of a symbol that is visible here, as operands and relocations must give it; null when there is none.
const std::string* find_symbol(const PtxParser& parser, const PtxFunctionBody* body, std::string_view text);

// --- functions (ptx_parser_function.cpp)
bool parse_function(PtxParser& parser, bool entry);  // from `.entry` or `.func` on

// --- module (ptx_parser.cpp)
bool parse_location(PtxParser& parser);  // after `.loc`

// --- instructions (ptx_parser_instruction.cpp, ptx_parser_operand.cpp)
bool parse_instruction(PtxParser& parser, PtxFunctionBody& body);
bool parse_operand(PtxParser& parser, PtxFunctionBody& body, PtxOperand& operand);
int find_register(const PtxFunctionBody& body, std::string_view text);  // -1: there is none
bool count_operand(PtxParser& parser, std::size_t in_list);

}  // namespace kw
