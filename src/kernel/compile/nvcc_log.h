#pragma once
// What nvcc says of a whole program, made into messages at the user's lines and columns. Four programs speak: CUDA's
// front end, the host compiler, the assembler and ptxas. The text is shaped by hostile source, so parsing is bounded
// and never fails; lines of source that the compilers repeat are left out.

#include <string>
#include <string_view>
#include <vector>

#include "kernel/compile/diagnostics.h"

namespace kw {

// The name that the program has while it is compiled.
inline constexpr const char* whole_program_name = "program.cu";

struct NvccLogContext {
  std::string_view file_name;  // what the user calls the file
  std::string_view ptx = {};   // ptxas names lines of it; with line information
  std::string_view text = {};  // the program: the front end shows lines with macros expanded
};

std::vector<Diagnostic> parse_nvcc_log(std::string_view log, const NvccLogContext& context);

// The lines of ptxas, each beginning with its name, as parse_resources() reads them.
std::string ptxas_lines(std::string_view log);

}  // namespace kw
