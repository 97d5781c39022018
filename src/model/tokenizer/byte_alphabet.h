#pragma once
// GPT-2's alphabet: each byte has a printable character, so that a vocabulary of byte strings can be stored as text.
// Printable bytes stand for themselves, the other 68 are U+0100 and up in order (a space is U+0120).

#include <optional>
#include <string>
#include <string_view>

namespace kw {

std::string to_byte_alphabet(std::string_view bytes);

// nullopt where the text has a character outside the alphabet.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace kw
