#include "kernel/compile/compilation.h"

namespace kw {

std::string_view to_string(CompileStatus status) {
  switch (status) {
    case CompileStatus::compiled:
      return "compiled";
    case CompileStatus::compile_error:
      return "compile_error";
    case CompileStatus::timeout:
      return "timeout";
    case CompileStatus::out_of_memory:
      return "out_of_memory";
    case CompileStatus::output_too_large:
      return "output_too_large";
    case CompileStatus::compiler_crashed:
      return "compiler_crashed";
    case CompileStatus::rejected:
      return "rejected";
    case CompileStatus::internal_error:
      return "internal_error";
  }
  return "internal_error";
}

}  // namespace kw
