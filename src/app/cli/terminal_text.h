#pragma once
// Text from a model or a kernel for the terminal: it must not move the cursor, change colours or turn text around.

#include <string>
#include <string_view>

namespace kw::cli {

// Control characters and those that cannot be seen become U+FFFD; line ends and tabs stay.
std::string terminal_text(std::string_view text);

}  // namespace kw::cli
