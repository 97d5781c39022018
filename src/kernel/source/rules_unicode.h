#pragma once
// Code points that nobody sees: they can make a text read differently from what a compiler reads (Boucher and Anderson,
// "Trojan Source", 2021).

#include <cstddef>
#include <string_view>

namespace kw {

struct DecodedCharacter {
  char32_t code_point = 0;
  std::size_t bytes = 1;
  bool valid = true;  // otherwise one byte that is not UTF-8
};

DecodedCharacter decode_utf8(std::string_view text, std::size_t at);

// Controls other than tab and new line, bidirectional and zero-width characters, tags, fillers, variation selectors. A
// carriage return is judged by its surroundings and not here.
bool is_hidden(char32_t code_point);

}  // namespace kw
