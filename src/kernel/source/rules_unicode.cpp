#include "kernel/source/rules_unicode.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kw {

DecodedCharacter decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  char32_t code_point = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {first, 1, false};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (first < 0xC2 || code_point < smallest[bytes] || surrogate || code_point > 0x10FFFF) return {first, 1, false};
  return {code_point, bytes, true};
}

bool is_hidden(char32_t code_point) {
  constexpr std::array<std::pair<char32_t, char32_t>, 21> ranges = {
      {{0x00, 0x08},       {0x0B, 0x0C},       {0x0E, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x034F, 0x034F},
       {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E},
       {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB},
       {0x1D173, 0x1D17A}, {0xE0000, 0xE01EF}, {0xFFFE, 0xFFFF}}};
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return code_point >= range.first && code_point <= range.second; });
}

}  // namespace kw
