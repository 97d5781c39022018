#include "kernel/compile/compiler_message.h"

#include <algorithm>

#include "kernel/compile/diagnostics.h"

namespace kw {
namespace {

struct Word {
  std::string_view text;
  Severity severity;
};

// Of two that begin alike the longer one first.
constexpr Word words[] = {{"catastrophic error", Severity::error},
                          {"internal error", Severity::error},
                          {"fatal error", Severity::error},
                          {"error", Severity::error},
                          {"Error", Severity::error},
                          {"fatal", Severity::error},
                          {"warning", Severity::warning},
                          {"Warning", Severity::warning},
                          {"remark", Severity::note},
                          {"note", Severity::note},
                          {"info", Severity::note}};
constexpr std::size_t longest_code = 16;

}  // namespace

std::optional<CompilerMessage> read_compiler_message(std::string_view text) {
  text = without_blanks(text);
  for (const Word& word : words) {
    if (!text.starts_with(word.text)) continue;
    const std::string_view rest = text.substr(word.text.size());
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view code = without_blanks(rest.substr(0, colon));
    if (code.starts_with("#")) code.remove_prefix(1);
    if (code.size() > longest_code || code.find(' ') != std::string_view::npos) return std::nullopt;
    return CompilerMessage{word.severity, code, without_blanks(rest.substr(colon + 1))};
  }
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string kept_text(std::string_view text) {
  if (text.size() <= max_diagnostic_bytes) return valid_utf8(text);
  return valid_utf8(text.substr(0, max_diagnostic_bytes)) + " ...";
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace kw
