#include "model/tokenizer/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace kw {
namespace {

struct Sequence {
  std::size_t bytes;  // of the character, or of the maximal subpart to replace
  bool valid;
};

// Unicode table 3-7: which second bytes may follow a first byte.
Sequence sequence_at(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return {1, true};
  unsigned low = 0x80, high = 0xBF;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size() || byte(at + i) < low || byte(at + i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

std::size_t ascii_prefix(std::string_view bytes, std::size_t at) {
  const std::size_t start = at;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data() + at, 8);
    if (eight & 0x8080808080808080u) break;
  }
  while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) < 0x80) ++at;
  return at - start;
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; (at += ascii_prefix(bytes, at)) < bytes.size();) {
    const Sequence sequence = sequence_at(bytes, at);
    if (!sequence.valid) return false;
    at += sequence.bytes;
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Sequence sequence = sequence_at(bytes, at);
    text += sequence.valid ? bytes.substr(at, sequence.bytes) : std::string_view("\xEF\xBF\xBD");
    at += sequence.bytes;
  }
  return text;
}

char32_t next_character(std::string_view text, std::size_t& offset) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[offset + i])); };
  const Sequence sequence = sequence_at(text, offset);
  KW_CHECK(sequence.valid);
  char32_t character = byte(0);
  if (sequence.bytes == 2) character = (character & 0x1F) << 6 | (byte(1) & 0x3F);
  if (sequence.bytes == 3) character = (character & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (sequence.bytes == 4) {
    character = (character & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  offset += sequence.bytes;
  return character;
}

void append_utf8(std::string& text, char32_t character) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

std::string to_nfc(std::string_view text) {
  // Below U+0300 nothing composes or decomposes: two-byte sequences up to 0xCB.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xCC; })) {
    return std::string(text);
  }
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto character = static_cast<utf8proc_int32_t>(next_character(text, at));
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(character, parts, 32, UTF8PROC_DECOMPOSE, &boundary);
    KW_CHECK(count >= 0 && count <= 32);
    characters.insert(characters.end(), parts, parts + count);
  }
  // Canonical order. utf8proc's own sorting takes quadratic time on long runs of marks.
  const auto mark = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (std::size_t i = 0; i < characters.size();) {
    std::size_t end = i;
    while (end < characters.size() && mark(characters[end]) != 0) ++end;
    if (end - i > 1) {
      std::stable_sort(characters.begin() + static_cast<std::ptrdiff_t>(i),
                       characters.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](auto a, auto b) { return mark(a) < mark(b); });
    }
    i = end + 1;
  }
  const auto composed = utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                                                 static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  KW_CHECK(composed >= 0);
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < composed; ++i) append_utf8(out, static_cast<char32_t>(characters[i]));
  return out;
}

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

}  // namespace kw
