#pragma once
// NVRTC's log, made into messages at the user's own lines and columns. The log is text that hostile source has shaped,
// so parsing is bounded and never fails.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/severity.h"
#include "kernel/compile/canonical.h"

namespace kw {

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;  // the user's, or a header's name
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // lines and columns from 1; 0: unknown
  std::string code;          // "177-D"; empty for plain errors
  std::string message;
  std::vector<std::string> notes;  // "detected during instantiation of ... at line 12", argument types
  std::string advice;              // what usually helps; may be empty
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// "file:3:7: error: message"
std::string to_string(const Diagnostic& diagnostic);

inline constexpr std::size_t max_diagnostics = 100;
inline constexpr std::size_t max_diagnostic_bytes = 2000;  // of a message; longer ones are cut
inline constexpr std::size_t max_diagnostic_notes = 20;

struct LogContext {
  std::string_view file_name;  // what the user calls the file
  const LineMap* lines = nullptr;
  std::string_view ptx;  // ptxas names lines of it
};

std::vector<Diagnostic> parse_log(std::string_view log, const LogContext& context);

// What usually helps against a message of the compiler; empty when nothing is known.
std::string advice_for(std::string_view message);

// Bytes that are not UTF-8 become U+FFFD; control characters become spaces.
std::string valid_utf8(std::string_view bytes);

}  // namespace kw
