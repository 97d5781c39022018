#pragma once
// Text from anywhere, made safe to stand in HTML and SVG: in elements and in quoted attributes.

#include <string>
#include <string_view>

namespace kw {

// Markup characters are escaped. Bytes that are no UTF-8 become U+FFFD. Characters that a browser hides or that turn
// text around (controls, bidirectional marks, zero-width ones) are shown by their number: a kernel must look like what
// it is. Tabs and line ends stay.
std::string html_escaped(std::string_view text);

// The longest whole characters within so many bytes; "..." where something was cut.
std::string cut_text(std::string_view text, std::size_t most_bytes);

}  // namespace kw
