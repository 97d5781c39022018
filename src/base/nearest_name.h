#pragma once
// "Do you mean ...?"

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// The name among `known` that is nearest to a misspelt one; empty when none is near.
std::string nearest_name(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace kw
