#pragma once
// What a byte-level tokenizer needs to know of Unicode: repairing invalid UTF-8, NFC, and two classes of characters.

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

bool is_valid_utf8(std::string_view bytes);

// Each maximal subpart of an ill-formed sequence becomes U+FFFD (Unicode 3.9, table 3-8), as Python's errors="replace"
// does it.
std::string replace_invalid_utf8(std::string_view bytes);

// Canonical composition of valid UTF-8, in time linear but for sorting runs of combining marks.
std::string to_nfc(std::string_view text);

// The character that starts at `offset` of valid UTF-8; `offset` is moved behind it.
char32_t next_character(std::string_view text, std::size_t& offset);

bool is_white_space(char32_t character);  // the property White_Space
bool is_numeric(char32_t character);      // categories Nd, Nl and No

void append_utf8(std::string& text, char32_t character);

}  // namespace kw
