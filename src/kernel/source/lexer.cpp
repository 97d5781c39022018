#include "kernel/source/lexer.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace kw {
namespace {

constexpr bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
constexpr bool is_name_start(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80;
}
constexpr bool is_name_part(unsigned char c) { return is_name_start(c) || is_digit(c); }
constexpr bool is_blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// The length of the longest punctuator that begins with these characters; 0 if there is none.
constexpr std::size_t punctuator_length(char a, char b, char c) {
  switch (a) {
    case '<':
    case '>':
      if (b == a) return c == a || c == '=' ? 3 : 2;
      return b == '=' ? 2 : 1;
    case '.':
      if (b == '.' && c == '.') return 3;
      return b == '*' ? 2 : 1;
    case '-':
      if (b == '>') return c == '*' ? 3 : 2;
      return b == '-' || b == '=' ? 2 : 1;
    case '+':
    case '&':
    case '|':
      return b == a || b == '=' ? 2 : 1;
    case '*':
    case '/':
    case '%':
    case '^':
    case '=':
    case '!':
      return b == '=' ? 2 : 1;
    case ':':
    case '#':
      return b == a ? 2 : 1;
    case '{':
    case '}':
    case '[':
    case ']':
    case '(':
    case ')':
    case ';':
    case '?':
    case ',':
    case '~':
      return 1;
    default:
      return 0;
  }
}

// Bytes of the UTF-8 sequence at the start of the text, 0 if it is not valid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xBF;  // of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  if (length == 0 || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

// Maps offsets of the text without continuations to the user's offsets, and counts lines. Both only move forward.
struct Splice {
  std::uint32_t at;       // offset in the spliced text
  std::uint32_t removed;  // bytes removed so far, this one included
};

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view file) {
    stream_.file = file;
    stream_.source = source;
  }

  TokenStream run() && {
    if (stream_.source.size() > max_lexer_bytes) {
      stream_.errors.push_back(Error{"the file is too large to be read", "", {stream_.file, 1, 1}});
      return std::move(stream_);
    }
    report_bad_bytes();
    splice();
    while (skip_space(), at_ < text_.size()) {
      if (text_[at_] == '#' && line_start_) {
        lex_directive();
      } else {
        stream_.tokens.push_back(next_token());
      }
    }
    std::stable_sort(stream_.errors.begin(), stream_.errors.end(), [](const Error& a, const Error& b) {
      return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
    });
    return std::move(stream_);
  }

 private:
  void fail(std::string message, std::string advice, std::uint32_t line, std::uint32_t column) {
    if (stream_.errors.size() >= max_lexer_errors) return;
    stream_.errors.push_back(
        Error{std::move(message), std::move(advice), {stream_.file, static_cast<int>(line), static_cast<int>(column)}});
  }

  // Over the whole text, comments included: compilers disagree about such bytes.
  void report_bad_bytes() {
    const std::string_view source = stream_.source;
    std::uint32_t line = 1;
    std::size_t line_begin = 0;
    for (std::size_t i = 0; i < source.size() && stream_.errors.size() < max_lexer_errors;) {
      const auto column = static_cast<std::uint32_t>(i - line_begin + 1);
      const std::size_t length = utf8_length(source.substr(i, 4));
      if (source[i] == '\0') fail("the file contains a NUL byte", "remove it", line, column);
      if (length == 0) fail("the file contains bytes that are not UTF-8", "save it as UTF-8", line, column);
      if (source[i] == '\n') {
        ++line;
        line_begin = i + 1;
      }
      i += std::max<std::size_t>(length, 1);
    }
  }

  // Removes every backslash that ends a line together with the line's end.
  void splice() {
    const std::string_view source = stream_.source;
    text_ = source;
    if (source.find("\\\n") == std::string_view::npos && source.find("\\\r\n") == std::string_view::npos) return;
    std::string spliced;
    spliced.reserve(source.size());
    for (std::size_t i = 0; i < source.size();) {
      std::size_t removed = 0;
      if (source.substr(i, 2) == "\\\n") removed = 2;
      if (source.substr(i, 3) == "\\\r\n") removed = 3;
      if (removed > 0) {
        const std::uint32_t before = splices_.empty() ? 0 : splices_.back().removed;
        splices_.push_back({static_cast<std::uint32_t>(spliced.size()), before + static_cast<std::uint32_t>(removed)});
        i += removed;
      } else {
        spliced.push_back(source[i++]);
      }
    }
    stream_.spliced = std::make_unique<const std::string>(std::move(spliced));
    text_ = *stream_.spliced;
  }

  // The user's offset of the spliced text's offset; asked in increasing order only.
  std::uint32_t user_offset(std::size_t at) {
    while (next_splice_ < splices_.size() && splices_[next_splice_].at <= at) ++next_splice_;
    return static_cast<std::uint32_t>(at) + (next_splice_ == 0 ? 0 : splices_[next_splice_ - 1].removed);
  }

  void count_lines_to(std::uint32_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (stream_.source[counted_] == '\n') {
        ++line_;
        line_begin_ = counted_ + 1;
      }
    }
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts(std::string_view word) const { return text_.substr(at_, word.size()) == word; }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (in_directive_) return;
        line_start_ = true;
        ++at_;
      } else if (is_blank(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && peek(1) == '*') {
        skip_block_comment();
      } else {
        return;
      }
      space_ = true;
    }
  }

  void skip_block_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      const std::uint32_t offset = user_offset(at_);
      count_lines_to(offset);
      fail("a comment is not closed", "add */", line_, offset - line_begin_ + 1);
      at_ = text_.size();
      return;
    }
    if (!in_directive_ && text_.substr(at_, end - at_).find('\n') != std::string_view::npos) line_start_ = true;
    at_ = end + 2;
  }

  Token begin_token() {
    Token token;
    token.line_start = line_start_;
    token.space_before = space_;
    token.offset = user_offset(at_);
    count_lines_to(token.offset);
    token.line = line_;
    token.column = token.offset - line_begin_ + 1;
    line_start_ = false;
    space_ = false;
    return token;
  }

  void end_token(Token& token, std::size_t begin) {
    token.text = text_.substr(begin, at_ - begin);
    // From the last byte: a continuation right behind the token is not part of it.
    token.bytes = (at_ > begin ? user_offset(at_ - 1) + 1 : token.offset) - token.offset;
  }

  Token next_token() {
    const std::size_t begin = at_;
    Token token = begin_token();
    token.kind = consume(token);
    if (token.text.empty()) end_token(token, begin);
    return token;
  }

  TokenKind consume(Token& token) {
    const auto c = static_cast<unsigned char>(peek());
    if (is_digit(c) || (c == '.' && is_digit(static_cast<unsigned char>(peek(1))))) return consume_number();
    if (is_name_start(c)) {
      if (c == 'u' || c == 'U' || c == 'L' || c == 'R') {
        if (const auto kind = consume_prefixed(token)) return *kind;
      }
      while (is_name_part(static_cast<unsigned char>(peek()))) ++at_;
      return TokenKind::identifier;
    }
    if (c == '"' || c == '\'') return consume_quoted(token, static_cast<char>(c));
    return consume_punctuator();
  }

  // u8"text", LR"(text)", U'c'
  std::optional<TokenKind> consume_prefixed(Token& token) {
    for (const std::string_view prefix : {"u8R", "uR", "UR", "LR", "R"}) {
      if (starts(prefix) && peek(prefix.size()) == '"') return consume_raw_string(token);
    }
    for (const std::string_view prefix : {"u8", "u", "U", "L"}) {
      if (!starts(prefix)) continue;
      const char quote = peek(prefix.size());
      if (quote != '"' && quote != '\'') continue;
      at_ += prefix.size();
      return consume_quoted(token, quote);
    }
    return std::nullopt;
  }

  TokenKind consume_number() {
    ++at_;
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(peek());
      const char before = text_[at_ - 1];
      const bool exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool separator = c == '\'' && is_name_part(static_cast<unsigned char>(peek(1)));
      if (!is_name_part(c) && c != '.' && !((c == '+' || c == '-') && exponent) && !separator) break;
      ++at_;
    }
    return TokenKind::number;
  }

  TokenKind consume_quoted(const Token& token, char quote) {
    ++at_;
    while (at_ < text_.size() && peek() != '\n' && peek() != quote) at_ += peek() == '\\' && peek(1) != '\n' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    if (peek() == quote && at_ < text_.size()) {
      ++at_;
    } else {
      fail(quote == '"' ? "a string is not closed" : "a character constant is not closed", "", token.line,
           token.column);
    }
    return quote == '"' ? TokenKind::string : TokenKind::character;
  }

  // Continuations are part of a raw string, so it is read from the user's text.
  TokenKind consume_raw_string(Token& token) {
    const std::string_view source = stream_.source;
    const std::size_t quote = source.find('"', token.offset);
    // A delimiter has at most 16 characters.
    const std::size_t bracket = quote + 1 + source.substr(quote + 1, 17).find_first_of("() \\\n\t\"");
    std::size_t end = std::string_view::npos;
    if (bracket > quote && bracket < source.size() && source[bracket] == '(') {
      const std::string closing = ")" + std::string(source.substr(quote + 1, bracket - quote - 1)) + "\"";
      end = source.find(closing, bracket);
      if (end != std::string_view::npos) end += closing.size();
    }
    if (end == std::string_view::npos) {  // the rest of the file: looking on would take quadratic time
      fail("a raw string is not closed", "", token.line, token.column);
      at_ = text_.size();
      return TokenKind::string;
    }
    token.text = source.substr(token.offset, end - token.offset);
    token.bytes = static_cast<std::uint32_t>(end - token.offset);
    // Back from the user's offset to the spliced one.
    while (next_splice_ < splices_.size() && splices_[next_splice_].at + splices_[next_splice_].removed <= end) {
      ++next_splice_;
    }
    at_ = end - (next_splice_ == 0 ? 0 : splices_[next_splice_ - 1].removed);
    return TokenKind::string;
  }

  TokenKind consume_punctuator() {
    const std::size_t length = punctuator_length(peek(), peek(1), peek(2));
    at_ += std::max<std::size_t>(length, 1);
    return length > 0 ? TokenKind::punctuator : TokenKind::unknown;
  }

  void lex_directive() {
    const std::size_t begin = at_;
    Token directive = begin_token();
    directive.kind = TokenKind::directive;
    directive.inner_first = static_cast<std::uint32_t>(stream_.directive_tokens.size());
    ++at_;
    in_directive_ = true;
    std::size_t end = at_;
    bool expect_header = false;
    while (skip_space(), at_ < text_.size() && text_[at_] != '\n') {
      const bool is_first = stream_.directive_tokens.size() == directive.inner_first;
      const bool header = expect_header && text_[at_] == '<';
      const std::size_t closing = header ? text_.find_first_of(">\n", at_) : std::string_view::npos;
      if (closing != std::string_view::npos && text_[closing] == '>') {
        const std::size_t header_begin = at_;
        Token token = begin_token();
        token.kind = TokenKind::header_name;
        at_ = closing + 1;
        end_token(token, header_begin);
        stream_.directive_tokens.push_back(token);
      } else {
        stream_.directive_tokens.push_back(next_token());
      }
      const Token& last = stream_.directive_tokens.back();
      expect_header = is_first && (last.is("include") || last.is("include_next") || last.is("import"));
      end = at_;
    }
    in_directive_ = false;
    directive.inner_count = static_cast<std::uint32_t>(stream_.directive_tokens.size()) - directive.inner_first;
    directive.text = text_.substr(begin, std::max(end, begin + 1) - begin);
    directive.bytes = directive.inner_count == 0 ? 1 : stream_.directive_tokens.back().end_offset() - directive.offset;
    stream_.tokens.push_back(directive);
  }

  TokenStream stream_;
  std::string_view text_;  // without continuations
  std::size_t at_ = 0;
  bool line_start_ = true;
  bool space_ = false;
  bool in_directive_ = false;
  std::vector<Splice> splices_;
  std::size_t next_splice_ = 0;
  std::uint32_t counted_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t line_begin_ = 0;
};

}  // namespace

TokenStream lex(std::string_view source, std::string_view file) { return Lexer(source, file).run(); }

bool is_keyword(std::string_view word) {
  // clang-format off
  static const std::unordered_set<std::string_view> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
      "char", "char16_t", "char32_t", "class", "compl", "const", "const_cast", "constexpr", "continue", "decltype",
      "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false",
      "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept",
      "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
      "reinterpret_cast", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
      "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union",
      "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "__global__",
      "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__restrict__", "__restrict",
      "__launch_bounds__", "__forceinline__", "__noinline__", "__grid_constant__", "__inline__", "__inline",
      "__asm__", "__asm", "__volatile__", "__attribute__", "__align__", "__builtin_align__", "__cluster_dims__",
      "__maxnreg__", "__block_size__"};
  // clang-format on
  return words.contains(word);
}

Position position_of(const Token& token, std::string_view file) {
  return {std::string(file), static_cast<int>(token.line), static_cast<int>(token.column)};
}

}  // namespace kw
