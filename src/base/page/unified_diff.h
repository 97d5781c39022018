#pragma once
// A diff for the terminal and for `patch`.

#include <string>
#include <string_view>

namespace kw {

// Empty when nothing changed. Lines are as they are: what is printed has to be made safe by who prints it.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name, int context = 3);

}  // namespace kw
