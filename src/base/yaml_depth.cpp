#include "base/yaml_depth.h"

#include <cstddef>

namespace kw {
namespace {

constexpr std::size_t max_yaml_nesting = 100;

}  // namespace

// Indentation nests too, one column a level at least.
bool yaml_nested_too_deeply(std::string_view yaml) {
  std::size_t depth = 0;
  std::size_t indentation = 0;
  std::size_t dashes = 0;
  bool at_line_start = true;
  for (const char c : yaml) {
    if (c == '\n') {
      at_line_start = true;
      indentation = dashes = 0;
      continue;
    }
    if (at_line_start && (c == ' ' || c == '-' || c == '?')) {
      dashes += c != ' ';
      if (++indentation > 4 * max_yaml_nesting && dashes > max_yaml_nesting) return true;
      continue;
    }
    at_line_start = false;
    if (c == '[' || c == '{') {
      if (++depth > max_yaml_nesting) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace kw
