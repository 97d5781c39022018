#pragma once
// Torch's messages carry stack traces and blank lines; the first lines say what is wrong, or those after TorchScript's
// traceback.

#include <sstream>
#include <string>

namespace kw {

inline std::string first_lines(const std::string& text, int count) {
  std::string kept;
  const std::size_t reason = text.rfind("\nRuntimeError: ");
  std::istringstream lines(reason == std::string::npos ? text : text.substr(reason + 1));
  for (std::string line; count > 0 && std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.rfind("Exception raised from", 0) == 0) break;
    kept += (kept.empty() ? "" : "\n  ") + line;
    --count;
  }
  return kept;
}

}  // namespace kw
