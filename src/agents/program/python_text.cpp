#include "agents/program/python_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agents/program/python_tokens.h"

namespace kw {
namespace {

using Token = PythonToken;

bool is_reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 19> words{
      "if",  "else", "for", "while", "lambda", "not",    "and",   "or",     "in",  "is",
      "def", "del",  "try", "with",  "import", "global", "yield", "assert", "pass"};
  return std::find(words.begin(), words.end(), name) != words.end();
}

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, const PythonLimits& limits)
      : text_(text), tokens_(std::move(tokens)), limits_(limits) {}

  Result<PythonFunction> parse() {
    if (!header()) return what_failed();
    while (!failed_) {
      if (peek().kind == Token::Kind::name && peek().text == "return") {
        ++at_;
        made_.results = expressions();
        line_end();
        if (!failed_ && peek().kind != Token::Kind::end) fail();
        if (failed_) return what_failed();
        return std::move(made_);
      }
      assignment();
    }
    return what_failed();
  }

 private:
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is_sign(std::string_view sign, std::size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::sign && peek(ahead).text == sign;
  }
  bool accept(std::string_view sign) {
    if (!is_sign(sign)) return false;
    ++at_;
    return true;
  }
  // Where it first went wrong: a word of Python that is not known, or else the line.
  Error what_failed() const {
    const Token& token = tokens_[failed_at_];
    if (beyond_limits_) return not_known("an expression as long as this one", token.line, limits_.reader);
    if (token.kind == Token::Kind::end) return not_known("a function without `return`", 0, limits_.reader);
    if (token.kind == Token::Kind::name && is_reserved(token.text))
      return not_known(quoted(token.text), token.line, limits_.reader);
    return unknown_line(text_, token.begin, limits_.reader);
  }
  int fail() {
    if (failed_) return -1;
    failed_ = true;
    failed_at_ = std::min(at_, tokens_.size() - 1);
    beyond_limits_ = made_.nodes.size() >= limits_.nodes || depth_ > limits_.depth;
    return -1;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) fail();
  }
  void line_end() {
    if (peek().kind != Token::Kind::line_end) {
      fail();
      return;
    }
    ++at_;
  }
  std::string name() {
    if (peek().kind != Token::Kind::name || is_reserved(peek().text)) {
      fail();
      return "";
    }
    return tokens_[at_++].text;
  }
  // Of the tokens from `first` on, up to here.
  int node(std::size_t first, PythonKind kind, std::string text, std::vector<int> parts = {},
           std::vector<std::string> keys = {}) {
    if (failed_ || made_.nodes.size() >= limits_.nodes) return fail();
    made_.nodes.push_back({kind, std::move(text), std::move(parts), std::move(keys), tokens_[first].line,
                           tokens_[first].begin, tokens_[at_ - 1].end});
    return static_cast<int>(made_.nodes.size()) - 1;
  }

  bool header() {
    if (name_is("def") && name_is("reference") && accept("(")) {
      while (!failed_ && !accept(")")) {
        PythonParameter parameter;
        parameter.name = name();
        if (accept(":")) parameter.whole_number = type_name() == "int";
        made_.parameters.push_back(std::move(parameter));
        if (!is_sign(")")) expect(",");
      }
      if (accept("->")) skip_type();
      expect(":");
      if (peek().kind == Token::Kind::line_end) ++at_;
      return !failed_;
    }
    fail();
    return false;
  }
  bool name_is(std::string_view text) {
    if (peek().kind != Token::Kind::name || peek().text != text) return false;
    ++at_;
    return true;
  }
  std::string type_name() {
    std::string text = name();
    while (accept(".")) text += "." + name();
    return text;
  }
  void skip_type() {
    while (!failed_ && !is_sign(":") && peek().kind != Token::Kind::line_end && peek().kind != Token::Kind::end) ++at_;
  }

  void assignment() {
    PythonAssignment made;
    made.names.push_back(name());
    if (is_sign(":")) {  // `t: Tensor = ...`
      ++at_;
      type_name();
    }
    while (accept(",")) made.names.push_back(name());
    const std::size_t begin = at_ - 1;
    const std::string augmented = made.names.size() == 1 ? augmented_sign() : "";
    const int own = augmented.empty() ? -1 : node(begin, PythonKind::name, made.names[0]);
    expect("=");
    const std::size_t first = at_;
    const std::vector<int> values = expressions();
    if (failed_) return;
    made.value = values.size() == 1 ? values[0] : node(first, PythonKind::tuple, "", values);
    if (own >= 0) made.value = node(begin, PythonKind::binary, augmented, {own, made.value});
    line_end();
    made_.assignments.push_back(std::move(made));
  }

  // Of `x += 1`, whose `=` is a sign of its own here.
  std::string augmented_sign() {
    static constexpr std::array<std::string_view, 10> known{"+", "-", "*", "/", "//", "%", "**", "&", "|", "^"};
    if (peek().kind != Token::Kind::sign || !is_sign("=", 1) || peek().end != peek(1).begin) return "";
    if (std::find(known.begin(), known.end(), peek().text) == known.end()) return "";
    return tokens_[at_++].text;
  }

  std::vector<int> expressions() {
    std::vector<int> found{expression()};
    while (!failed_ && accept(",")) {
      if (peek().kind == Token::Kind::line_end) break;
      found.push_back(expression());
    }
    return found;
  }

  // Lowest first: comparisons, | ^ & shifts, sums, products, signs, powers.
  int expression() {
    if (++depth_ > limits_.depth) fail();
    const std::size_t first = at_;
    int left = failed_ ? -1 : level(0);
    if (!failed_ && peek().kind == Token::Kind::sign) {
      static constexpr std::array<std::string_view, 6> signs{"<", "<=", ">", ">=", "==", "!="};
      const std::string sign = peek().text;
      if (std::find(signs.begin(), signs.end(), sign) != signs.end()) {
        ++at_;
        const int right = level(0);
        left = node(first, PythonKind::compare, sign, {left, right});
        // `a < b < c` is something else than it seems.
        if (peek().kind == Token::Kind::sign && std::find(signs.begin(), signs.end(), peek().text) != signs.end())
          fail();
      }
    }
    --depth_;
    return left;
  }

  // How strongly an operator between two values binds; 0: it is none.
  static int strength_of(std::string_view sign) {
    using Entry = std::pair<std::string_view, int>;
    static constexpr std::array known{Entry{"+", 5},  Entry{"-", 5},  Entry{"*", 6}, Entry{"/", 6},
                                      Entry{"@", 6},  Entry{"//", 6}, Entry{"%", 6}, Entry{"<<", 4},
                                      Entry{">>", 4}, Entry{"&", 3},  Entry{"^", 2}, Entry{"|", 1}};
    for (const auto& [each, strength] : known)
      if (each == sign) return strength;
    return 0;
  }

  // Values with operators between them that bind at least so strongly.
  int level(int least) {
    const std::size_t first = at_;
    int left = signed_value();
    while (!failed_ && peek().kind == Token::Kind::sign) {
      const int strength = strength_of(peek().text);
      if (strength < std::max(least, 1)) break;
      const std::string sign = tokens_[at_++].text;
      const int right = level(strength + 1);
      left = node(first, PythonKind::binary, sign, {left, right});
    }
    return left;
  }

  int signed_value() {
    if (++depth_ > limits_.depth) fail();
    const std::size_t first = at_;
    int made = -1;
    if (failed_) {
    } else if (accept("-")) {
      const int value = signed_value();
      made = node(first, PythonKind::minus, "", {value});
    } else if (accept("~")) {
      const int value = signed_value();
      made = node(first, PythonKind::invert, "", {value});
    } else if (accept("+")) {
      made = signed_value();
    } else {
      made = postfix();
      if (!failed_ && accept("**")) {
        const int power = signed_value();
        made = node(first, PythonKind::binary, "**", {made, power});
      }
    }
    --depth_;
    return made;
  }

  int postfix() {
    const std::size_t first = at_;
    int made = atom();
    while (!failed_) {
      if (accept(".")) {
        std::string own = name();
        made = node(first, PythonKind::attribute, std::move(own), {made});
      } else if (accept("(")) {
        std::vector<int> parts{made};
        std::vector<std::string> keys;
        while (!failed_ && !accept(")")) {
          const bool keyword = peek().kind == Token::Kind::name && is_sign("=", 1);
          keys.push_back(keyword ? name() : "");
          if (keyword) ++at_;
          parts.push_back(expression());
          if (!is_sign(")")) expect(",");
        }
        made = node(first, PythonKind::call, "", std::move(parts), std::move(keys));
      } else if (accept("[")) {
        const std::size_t inside = at_;
        std::vector<int> entries;
        bool comma = false;
        while (!failed_ && !accept("]")) {
          entries.push_back(index_entry());
          if (!is_sign("]")) {
            expect(",");
            comma = true;
          }
        }
        if (entries.empty()) return fail();
        const int index = entries.size() == 1 && !comma ? entries[0] : node(inside, PythonKind::tuple, "", entries);
        made = node(first, PythonKind::subscript, "", {made, index});
      } else {
        break;
      }
    }
    return made;
  }

  int index_entry() {
    const std::size_t first = at_;
    std::vector<int> parts;
    int part = is_sign(":") ? -1 : expression();
    if (!is_sign(":")) return part;
    parts.push_back(part);
    while (!failed_ && parts.size() < 3 && accept(":"))
      parts.push_back(is_sign(":") || is_sign("]") || is_sign(",") ? -1 : expression());
    parts.resize(3, -1);
    return node(first, PythonKind::slice, "", std::move(parts));
  }

  int atom() {
    const Token token = peek();
    const std::size_t first = at_;
    if (token.kind == Token::Kind::name) {
      if (token.text == "None" || token.text == "True" || token.text == "False") {
        ++at_;
        return node(first, PythonKind::constant, token.text);
      }
      std::string own = name();
      return node(first, PythonKind::name, std::move(own));
    }
    if (token.kind == Token::Kind::number || token.kind == Token::Kind::string) {
      ++at_;
      return node(first, token.kind == Token::Kind::number ? PythonKind::number : PythonKind::string, token.text);
    }
    if (accept("...")) return node(first, PythonKind::name, "...");
    const bool round = is_sign("(");
    if (!round && !is_sign("[")) return fail();
    ++at_;
    const std::string_view close = round ? ")" : "]";
    std::vector<int> parts;
    bool comma = false;
    while (!failed_ && !accept(close)) {
      parts.push_back(expression());
      if (!is_sign(close)) {
        expect(",");
        comma = true;
      }
    }
    if (round && parts.size() == 1 && !comma) return parts[0];
    return node(first, round ? PythonKind::tuple : PythonKind::list, "", std::move(parts));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  const PythonLimits& limits_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  std::size_t failed_at_ = 0;  // the token
  bool beyond_limits_ = false;
  PythonFunction made_;
};

}  // namespace

Result<PythonFunction> parse_python(std::string_view text, const PythonLimits& limits) {
  if (text.size() > limits.bytes)
    return not_known(fmt::format("a text of more than {} bytes", limits.bytes), 0, limits.reader);
  KW_TRY(auto tokens, python_tokens(text, limits.reader));
  return Parser(text, std::move(tokens), limits).parse();
}

Error not_known(std::string_view what, int line, std::string_view reader) {
  const std::string where = line > 0 ? fmt::format(" (line {})", line) : "";
  return {fmt::format("{} does not know {}{}", reader, what, where), "", {"", line, 0}};
}

std::string quoted(std::string_view piece) {
  constexpr std::size_t most = 60;
  std::string text;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    const bool space = byte <= 0x20 || byte >= 0x7f;
    if (!space || (!text.empty() && text.back() != ' ')) text += space ? ' ' : c;
    if (text.size() > most) break;
  }
  while (text.ends_with(' ')) text.pop_back();
  if (text.size() > most) text = text.substr(0, most - 4) + " ...";
  return "`" + text + "`";
}

}  // namespace kw
