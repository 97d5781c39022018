#pragma once
// The table of settings as a page: what docs/configuration.md ends with.

#include <string>

namespace kw {

// Lines that begin the part of the page that is made, and everything after it, in Markdown.
inline constexpr const char* settings_page_begins = "## All keys";
std::string settings_page();

}  // namespace kw
