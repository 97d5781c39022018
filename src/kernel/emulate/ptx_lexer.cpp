#include "kernel/emulate/ptx_lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace kw {
namespace {

enum CharacterClass : std::uint8_t {
  other = 0,
  space = 1,
  letter = 2,
  digit = 4,
  percent = 8
};  // % begins a name only

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) classes[static_cast<unsigned char>(c)] = space;
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = letter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<std::size_t>(c)] = letter;
  for (char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] = letter;
  classes['%'] = percent;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = digit;
  return classes;
}
constexpr std::array<std::uint8_t, 256> classes = make_classes();

std::uint8_t class_of(char c) { return classes[static_cast<unsigned char>(c)]; }

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// No number in PTX is longer; keeps std::from_chars from reading a megabyte of digits.
constexpr std::size_t max_number_bytes = 400;

}  // namespace

std::uint64_t double_bits_of_single(std::uint32_t bits) {
  if ((bits & 0x7F800000u) == 0x7F800000u) {
    return static_cast<std::uint64_t>(bits >> 31) << 63 | std::uint64_t{0x7FF} << 52 |
           static_cast<std::uint64_t>(bits & 0x7FFFFF) << 29;
  }
  return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
}

std::string quoted_ptx(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string quoted = "'";
  for (char c : text.substr(0, longest)) quoted += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > longest) quoted += "...";
  return quoted + "'";
}

PtxLexer::PtxLexer(std::string_view source) : source_(source) { advance(); }

std::uint32_t PtxLexer::column_of(const PtxToken& token) const {
  std::size_t start = token.offset;
  while (start > 0 && source_[start - 1] != '\n') --start;
  return static_cast<std::uint32_t>(token.offset - start + 1);
}

void PtxLexer::finish(PtxTokenKind kind, std::size_t end) {
  token_.kind = kind;
  token_.text = source_.substr(token_.offset, end - token_.offset);
  position_ = end;
}

// The position stays, so an invalid token is never passed.
void PtxLexer::invalid(std::string_view message) {
  token_.kind = PtxTokenKind::invalid;
  token_.text = message;
  position_ = token_.offset;
  line_ = token_.line;
}

void PtxLexer::skip_space() {
  const char* const begin = source_.data();
  const std::size_t size = source_.size();
  std::size_t at = position_;
  while (at < size) {
    const char c = begin[at];
    if (class_of(c) == space) {
      line_ += c == '\n';
      ++at;
    } else if (c == '/' && at + 1 < size && begin[at + 1] == '/') {
      const void* end = std::memchr(begin + at, '\n', size - at);
      at = end ? static_cast<std::size_t>(static_cast<const char*>(end) - begin) : size;
    } else if (c == '/' && at + 1 < size && begin[at + 1] == '*') {
      const std::size_t end = source_.find("*/", at + 2);
      if (end == std::string_view::npos) break;  // the caller sees '/' and says what is wrong
      for (; at < end + 2; ++at) line_ += begin[at] == '\n';
    } else {
      break;
    }
  }
  position_ = at;
}

bool PtxLexer::next_is(char c) const {
  std::size_t at = position_;
  while (at < source_.size() && class_of(source_[at]) == space) ++at;
  if (at >= source_.size()) return false;
  if (source_[at] != '/') return source_[at] == c;
  PtxLexer ahead = *this;  // a comment
  ahead.advance();
  return ahead.current().is(c);
}

void PtxLexer::skip_line() {
  // The current token is on the line that is left out, unless the position is already past it.
  std::size_t end = source_.find('\n', token_.offset);
  if (end == std::string_view::npos) end = source_.size();
  position_ = end;
  line_ = token_.line;
  advance();
}

void PtxLexer::advance() {
  if (token_.kind == PtxTokenKind::invalid) return;
  skip_space();
  const std::size_t size = source_.size();
  const char* const begin = source_.data();
  std::size_t at = position_;
  token_.line = line_;
  token_.offset = static_cast<std::uint32_t>(at);
  if (at >= size) {
    token_.kind = PtxTokenKind::end;
    token_.text = {};
    return;
  }
  const char c = begin[at];
  const std::uint8_t kind = class_of(c);
  if (kind & (letter | percent)) {
    ++at;
    while (at < size && (class_of(begin[at]) & (letter | digit))) ++at;
    const bool remainder = c == '%' && at == token_.offset + 1;  // of a constant expression
    return finish(remainder ? PtxTokenKind::punctuation : PtxTokenKind::identifier, at);
  }
  if (kind == digit) return lex_number();
  if (c == '.') {
    ++at;
    while (at < size) {
      if (class_of(begin[at]) & (letter | digit)) {
        ++at;
      } else if (begin[at] == ':' && at + 1 < size && begin[at + 1] == ':') {
        at += 2;
      } else {
        break;
      }
    }
    if (at == token_.offset + 1) return invalid("a '.' must be followed by a name");
    return finish(PtxTokenKind::dotted, at);
  }
  if (c == '"') return lex_string();
  if (c == '/' && at + 1 < size && begin[at + 1] == '*') return invalid("this comment does not end");
  if (c < '!' || c > '~') return invalid("there is a byte here that PTX does not have");
  finish(PtxTokenKind::punctuation, at + 1);
}

void PtxLexer::lex_string() {
  std::size_t at = token_.offset + 1;
  for (; at < source_.size() && source_[at] != '"' && source_[at] != '\n'; ++at) {
    if (source_[at] == '\\' && at + 1 < source_.size() && source_[at + 1] != '\n') ++at;
  }
  if (at >= source_.size() || source_[at] != '"') return invalid("this string does not end");
  finish(PtxTokenKind::string, at + 1);
}

void PtxLexer::lex_number() {
  const char* const begin = source_.data();
  const std::size_t size = source_.size();
  std::size_t at = token_.offset;
  token_.is_unsigned = false;
  token_.is_single = false;
  const char second = at + 1 < size ? begin[at + 1] : '\0';

  if (begin[at] == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    const bool single = second == 'f' || second == 'F';
    const std::size_t digits = single ? 8 : 16;
    std::uint64_t bits = 0;
    at += 2;
    for (std::size_t i = 0; i < digits; ++i, ++at) {
      const int value = at < size ? digit_value(begin[at]) : 99;
      if (value > 15) {
        return invalid(single ? "0f must be followed by 8 hexadecimal digits"
                              : "0d must be followed by 16 hexadecimal digits");
      }
      bits = bits << 4 | static_cast<std::uint64_t>(value);
    }
    token_.is_single = single;
    token_.number = single ? double_bits_of_single(static_cast<std::uint32_t>(bits)) : bits;
    finish(PtxTokenKind::floating, at);
  } else {
    int base = 10;
    if (begin[at] == '0' && (second == 'x' || second == 'X'))
      base = 16, at += 2;
    else if (begin[at] == '0' && (second == 'b' || second == 'B'))
      base = 2, at += 2;
    else if (begin[at] == '0')
      base = 8;
    const std::size_t first_digit = at;
    std::uint64_t value = 0;
    bool overflow = false;
    bool beyond_base = false;  // an 8 or 9 after a leading zero: right in 09.5, wrong in 09
    for (; at < size; ++at) {
      const int d = digit_value(begin[at]);
      if (d >= (base == 8 ? 10 : base)) break;
      beyond_base |= d >= base;
      overflow |= value > (~std::uint64_t{0} - static_cast<std::uint64_t>(d)) / static_cast<std::uint64_t>(base);
      value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(d);
    }
    if (at == first_digit) return invalid("this number has no digits");
    const char next = at < size ? begin[at] : '\0';
    const bool fraction = next == '.' && at + 1 < size && class_of(begin[at + 1]) == digit;
    if ((base == 10 || base == 8) && (fraction || next == 'e' || next == 'E')) {
      double number = 0;
      const std::size_t longest = std::min(size - token_.offset, max_number_bytes);
      const auto read = std::from_chars(begin + token_.offset, begin + token_.offset + longest, number);
      if (read.ec != std::errc()) return invalid("this number is outside the range of double");
      token_.number = std::bit_cast<std::uint64_t>(number);
      finish(PtxTokenKind::floating, static_cast<std::size_t>(read.ptr - begin));
    } else {
      if (overflow) return invalid("this number does not fit into 64 bits");
      if (beyond_base) return invalid("a number that begins with 0 is octal");
      token_.is_unsigned = value >> 63 != 0;
      if (next == 'U' || next == 'u') token_.is_unsigned = true, ++at;
      token_.number = value;
      finish(PtxTokenKind::integer, at);
    }
  }
  if (position_ < size && (class_of(begin[position_]) & (letter | digit))) {
    invalid("a number must not run into a name");
  }
}

}  // namespace kw
