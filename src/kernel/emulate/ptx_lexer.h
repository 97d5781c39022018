#pragma once
// Tokens of PTX text, one at a time and without allocation. Comments and white space are skipped. Time is linear.

#include <cstdint>
#include <string>
#include <string_view>

namespace kw {

enum class PtxTokenKind : std::uint8_t {
  end,
  identifier,   // `ld`, `%r12`, `$L__BB0_1`, `_Z3fooPf`, `_`
  dotted,       // `.reg`, `.f32`, `.L2::128B`: one dot and what follows it
  integer,      // number, is_unsigned
  floating,     // number holds the bits of a double; is_single for 0f........
  string,       // with its quotes
  punctuation,  // one character: text[0]
  invalid,      // text is a sentence about what is wrong
};

struct PtxToken {
  PtxTokenKind kind = PtxTokenKind::end;
  bool is_unsigned = false;  // written with U, or too large for a signed number
  bool is_single = false;
  std::uint32_t line = 1;
  std::uint32_t offset = 0;
  std::uint64_t number = 0;
  std::string_view text;

  bool is(char c) const { return kind == PtxTokenKind::punctuation && text[0] == c; }
  bool is_dotted(std::string_view t) const { return kind == PtxTokenKind::dotted && text == t; }
  bool is_identifier() const { return kind == PtxTokenKind::identifier; }
  bool is_identifier(std::string_view t) const { return kind == PtxTokenKind::identifier && text == t; }
};

class PtxLexer {
 public:
  explicit PtxLexer(std::string_view source);

  const PtxToken& current() const { return token_; }
  void advance();
  // Whether the very next byte after the current token is `c`: tells `<<` from `<` without a second token.
  bool followed_by(char c) const { return position_ < source_.size() && source_[position_] == c; }
  // Whether the token after the current one is the punctuation `c`.
  bool next_is(char c) const;
  // Leaves the rest of the line out; the current token becomes the first one after it.
  void skip_line();
  std::uint32_t column_of(const PtxToken& token) const;

 private:
  void skip_space();
  void lex_number();
  void lex_string();
  void finish(PtxTokenKind kind, std::size_t end);
  void invalid(std::string_view message);

  std::string_view source_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  PtxToken token_;
};

// The double that equals the float with these bits, NaN payloads kept.
std::uint64_t double_bits_of_single(std::uint32_t bits);

// A piece of the input for an error message: bounded, printable, in quotes.
std::string quoted_ptx(std::string_view text);

}  // namespace kw
