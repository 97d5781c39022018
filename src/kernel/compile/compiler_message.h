#pragma once
// One message of a compiler, in parts: what NVRTC, nvcc, host compilers, assemblers and ptxas have in common. The text
// is shaped by hostile source, so reading is bounded and never fails. Inside the module only.

#include <optional>
#include <string>
#include <string_view>

#include "base/severity.h"

namespace kw {

struct CompilerMessage {
  Severity severity = Severity::error;
  std::string_view code;  // "177-D"
  std::string_view text;
};

// "error: message", "warning #177-D: message", "fatal   : message", "catastrophic error: message".
std::optional<CompilerMessage> read_compiler_message(std::string_view text);

std::string_view without_blanks(std::string_view text);  // at both ends

// As a diagnostic keeps it: cut where it is too long, and UTF-8.
std::string kept_text(std::string_view text);

// The line at the front, which is taken away with its end.
std::string_view take_line(std::string_view& text);

}  // namespace kw
