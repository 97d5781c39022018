#pragma once
// C++ tokens of a CUDA file, before preprocessing. The lexer never fails: what it does not know becomes a token of kind
// `unknown`, and what no compiler should see (NUL, invalid UTF-8, an unterminated string or comment) is also reported
// as an error with its position. Time is linear in the text.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

enum class TokenKind : std::uint8_t {
  identifier,   // also keywords: `__global__`, `if`
  number,       // a preprocessing number: `1'000u`, `0x1p-3f`, `.5`
  string,       // with prefix and quotes: `u8"a"`, `R"(a)"`
  character,    // `'a'`, `L'\n'`
  punctuator,   // longest match, with CUDA's `<<<` and `>>>` as one token each
  directive,    // a whole preprocessor line; its tokens are TokenStream::inside(token)
  header_name,  // `<cuda_fp16.h>`, only inside an #include
  unknown,      // a stray byte or `\`
};

struct Token {
  TokenKind kind = TokenKind::unknown;
  bool line_start = false;    // the first token of its line
  bool space_before = false;  // white space, a comment or a new line stands before it
  // Without line continuations (backslash, new line). A directive's text is the whole line including its comments.
  std::string_view text;
  std::uint32_t offset = 0;  // of the first byte, in the user's text
  std::uint32_t bytes = 0;   // in the user's text, continuations included
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in bytes
  std::uint32_t inner_first = 0;
  std::uint32_t inner_count = 0;

  bool is(std::string_view t) const { return text == t; }
  std::uint32_t end_offset() const { return offset + bytes; }
};

struct TokenStream {
  std::string file;
  std::string_view source;  // what lex() was given; must outlive the stream
  std::vector<Token> tokens;
  std::vector<Token> directive_tokens;  // of all directives, one after the other
  std::vector<Error> errors;            // in order of position; at most max_lexer_errors

  // The tokens of a directive after `#`: {define, N, 4}. Empty for a lone `#`.
  std::span<const Token> inside(const Token& directive) const {
    return std::span(directive_tokens).subspan(directive.inner_first, directive.inner_count);
  }

  // The text without line continuations, which the tokens' texts point into; null when the source has none.
  std::unique_ptr<const std::string> spliced;
};

inline constexpr std::size_t max_lexer_errors = 20;
inline constexpr std::size_t max_lexer_bytes = std::size_t{1} << 30;  // offsets are 32-bit

TokenStream lex(std::string_view source, std::string_view file);

// Whether the word is reserved by C++17 or by CUDA's language extensions (`__global__`, `__shared__`).
bool is_keyword(std::string_view word);

// Where a token stands, for an Error.
Position position_of(const Token& token, std::string_view file);

}  // namespace kw
