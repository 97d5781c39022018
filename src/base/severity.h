#pragma once
// How much a finding or a diagnostic matters.

#include <string_view>

namespace kw {

enum class Severity { note, warning, error };

constexpr std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

}  // namespace kw
