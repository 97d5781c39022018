// Characters and spellings that make a file read differently to a person, a compiler and a rule.

#include "kernel/source/rules_reading.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

constexpr std::string_view hidden_rule = "hidden-character";
constexpr std::size_t max_line_bytes = 100'000;

struct TextPosition {
  int line = 1;
  int column = 1;
};

void report(RuleInput& input, TextPosition at, std::string_view rule, std::string message, std::string advice) {
  input.add(Violation{
      {std::string(rule), Severity::error, {input.file(), at.line, at.column}, std::move(message), std::move(advice)}});
}

std::string code_point_name(char32_t code_point) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string hex;
  for (int shift = code_point > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) hex += digits[(code_point >> shift) & 15];
  return "U+" + hex;
}

// A backslash, blanks and the end of a line: GCC, and with it nvcc, joins the next line to it, NVRTC does not. Where
// nothing but a comment follows, that changes nothing.
bool joins_for_some(std::string_view text, std::size_t backslash) {
  constexpr std::string_view blanks = " \t\v\f";
  const std::size_t behind = text.find_first_not_of(blanks, backslash + 1);
  if (behind == text.npos || behind == backslash + 1) return false;
  if (text[behind] != '\n' && text.substr(behind, 2) != "\r\n") return false;
  const std::size_t next = text.find_first_not_of(blanks, text.find('\n', behind) + 1);
  return next != text.npos && text[next] != '\n' && text[next] != '\r' && text.substr(next, 2) != "//";
}

void check_characters(RuleInput& input) {
  const std::string_view text = input.stream.source;
  std::size_t line_begin = 0;
  TextPosition at;
  std::size_t hidden = 0, long_lines = 0, trigraphs = 0, joined = 0;
  for (std::size_t i = 0; i < text.size();) {
    at.column = static_cast<int>(i - line_begin + 1);
    const auto [code_point, bytes, valid] = decode_utf8(text, i);
    // Some compilers end a line, and with it a comment, at a carriage return of its own.
    const bool lone_return = text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    if (((valid && is_hidden(code_point)) || lone_return) && hidden++ < max_findings_of_a_rule) {
      report(input, at, hidden_rule, "the invisible character " + code_point_name(code_point), "remove it");
    }
    // NVRTC drops trigraphs in C++17 but other compilers may not, and ??/ would join two lines.
    constexpr std::string_view third = "=/'()!<>-";
    if (text[i] == '?' && i + 2 < text.size() && text[i + 1] == '?' && third.find(text[i + 2]) != third.npos &&
        trigraphs++ < max_findings_of_a_rule) {
      report(input, at, "trigraph", "the trigraph ??" + std::string(1, text[i + 2]), "write the character itself");
    }
    if (text[i] == '\\' && joins_for_some(text, i) && joined++ < max_findings_of_a_rule) {
      report(input, at, "line-splice",
             "blanks between a backslash and the end of its line: some compilers join the lines",
             "remove the blanks, or the backslash");
    }
    i += bytes;
    if (text[i - 1] == '\n') {
      ++at.line;
      line_begin = i;
    } else if (i - line_begin == max_line_bytes && long_lines++ < max_findings_of_a_rule) {
      report(input, at, "long-line", "a line of more than 100,000 bytes", "break it");
    }
  }
}

// <: :> <% %> %: stand for [ ] { } #; a `%:include` is a directive that no reader expects.
bool is_digraph(const Token& a, const Token& b, const Token* c) {
  if (a.end_offset() != b.offset || b.space_before) return false;
  if (a.is("%") && (b.is(":") || b.is(">") || b.is("::"))) return true;
  if (a.is("<") && (b.is("%") || b.is("%="))) return true;
  if (a.is(":") && b.is(">")) return true;
  if (a.is("<") && b.is(":")) return true;
  // <:: is < and :: unless followed by : or > (C++11).
  return a.is("<") && b.is("::") && c != nullptr && c->offset == b.end_offset() && (c->is(":") || c->is(">"));
}

// Compilers disagree about raw strings in skipped groups and in directives, so such a string could hide or show lines.
bool is_deceptive_raw_string(const Token& token, bool in_directive) {
  if (token.kind != TokenKind::string || token.text.find('R') >= token.text.find('"')) return false;
  for (std::size_t line = token.text.find('\n'); line != token.text.npos; line = token.text.find('\n', line + 1)) {
    if (in_directive) return true;
    const std::size_t first = token.text.find_first_not_of(" \t\r\v\f", line + 1);
    if (first != token.text.npos && token.text[first] == '#') return true;
  }
  return false;
}

void check_tokens(RuleInput& input, const std::vector<Token>& tokens, bool in_directive) {
  std::size_t digraphs = 0, strays = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (i + 1 < tokens.size() && is_digraph(token, tokens[i + 1], i + 2 < tokens.size() ? &tokens[i + 2] : nullptr) &&
        digraphs++ < max_findings_of_a_rule) {
      input.add(violation_at(input, token, "digraph", Severity::error, "a digraph stands for a bracket or #",
                             "write [ ] { } or #"));
    }
    if (is_deceptive_raw_string(token, in_directive)) {
      input.add(violation_at(input, token, "raw-string", Severity::error,
                             "a raw string over several lines that could be read as directives",
                             "use ordinary string literals"));
    }
    if (token.kind == TokenKind::unknown && strays++ < max_findings_of_a_rule) {
      const bool escape = token.is("\\");
      input.add(violation_at(
          input, token, "stray-character", Severity::error,
          escape ? "a backslash outside a string, such as an escaped letter of a name" : "a stray character",
          "remove it"));
    }
    if (token.kind != TokenKind::identifier || strays >= max_findings_of_a_rule) continue;
    bool ascii = true;
    for (const char c : token.text) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
    if (!ascii) {
      ++strays;
      input.add(violation_at(input, token, "non-ascii-name", Severity::warning,
                             "a name with letters outside ASCII can look like another name", "use ASCII letters"));
    }
  }
}

}  // namespace

void check_text(RuleInput& input) {
  for (const Error& error : input.stream.errors) {
    input.add(Violation{{"malformed-text", Severity::error, error.where, error.message,
                         error.advice.empty() ? "write well-formed text" : error.advice}});
  }
  check_characters(input);
  check_tokens(input, input.stream.tokens, false);
  check_tokens(input, input.stream.directive_tokens, true);
}

}  // namespace kw
