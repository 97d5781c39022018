#include "model/tokenizer/byte_alphabet.h"

#include <array>

#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int, 0x144> byte{};

  constexpr Alphabet() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      character[b] = printable ? static_cast<char32_t>(b) : next++;
      byte[character[b]] = b;
    }
  }
};
constexpr Alphabet alphabet;

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, alphabet.character[static_cast<unsigned char>(c)]);
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c >= alphabet.byte.size() || alphabet.byte[c] < 0) return std::nullopt;
    bytes += static_cast<char>(alphabet.byte[c]);
  }
  return bytes;
}

}  // namespace kw
