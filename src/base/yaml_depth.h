#pragma once
// yaml-cpp reads recursively, so nesting is bounded before it sees a text that nobody vouches for.

#include <string_view>

namespace kw {

// Brackets, or dashes that nest by indentation, deeper than a hundred.
bool yaml_nested_too_deeply(std::string_view yaml);

}  // namespace kw
