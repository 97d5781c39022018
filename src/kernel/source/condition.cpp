#include "kernel/source/condition.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace kw {
namespace {

struct Number {
  std::int64_t bits = 0;
  bool is_unsigned = false;
};

class Condition {
 public:
  Condition(std::span<const Token> tokens, const Token& directive, std::string_view file)
      : tokens_(tokens), directive_(directive), file_(file) {}

  Result<bool> run() {
    if (tokens_.empty()) return fail("#if without a condition");
    KW_TRY(const Number value, ternary(true));
    if (at_ < tokens_.size()) return fail("unexpected `" + std::string(tokens_[at_].text) + "` in an #if condition");
    return value.bits != 0;
  }

 private:
  static constexpr int max_depth = 200;

  Error fail(std::string message) const {
    const Token& at = at_ < tokens_.size() ? tokens_[at_] : directive_;
    return Error{std::move(message), "", position_of(at, file_)};
  }

  bool take(std::string_view text) {
    if (at_ >= tokens_.size() || !tokens_[at_].is(text)) return false;
    ++at_;
    return true;
  }

  // `live` is false in the branch that is not chosen: there a division by zero does no harm.
  Result<Number> ternary(bool live) {
    if (++depth_ > max_depth) return fail("an #if condition is nested too deeply");
    KW_TRY(Number value, binary(0, live));
    if (take("?")) {
      const bool chosen = value.bits != 0;
      KW_TRY(const Number first, ternary(live && chosen));
      if (!take(":")) return fail("expected `:` in an #if condition");
      KW_TRY(const Number second, ternary(live && !chosen));
      value = {chosen ? first.bits : second.bits, first.is_unsigned || second.is_unsigned};
    }
    --depth_;
    return value;
  }

  static int precedence(std::string_view op) {
    if (op == "||") return 1;
    if (op == "&&") return 2;
    if (op == "|") return 3;
    if (op == "^") return 4;
    if (op == "&") return 5;
    if (op == "==" || op == "!=") return 6;
    if (op == "<" || op == ">" || op == "<=" || op == ">=") return 7;
    if (op == "<<" || op == ">>") return 8;
    if (op == "+" || op == "-") return 9;
    if (op == "*" || op == "/" || op == "%") return 10;
    return 0;
  }

  Result<Number> binary(int lowest, bool live) {
    KW_TRY(Number left, unary(live));
    while (at_ < tokens_.size()) {
      const std::string_view op = tokens_[at_].text;
      const int level = precedence(op);
      if (level == 0 || level <= lowest) break;
      ++at_;
      const bool skip = (op == "&&" && left.bits == 0) || (op == "||" && left.bits != 0);
      if (++depth_ > max_depth) return fail("an #if condition is nested too deeply");
      KW_TRY(const Number right, binary(level, live && !skip));
      --depth_;
      KW_TRY(left, apply(op, left, right, live));
    }
    return left;
  }

  Result<Number> apply(std::string_view op, Number a, Number b, bool live) {
    const auto x = static_cast<std::uint64_t>(a.bits), y = static_cast<std::uint64_t>(b.bits);
    const bool u = a.is_unsigned || b.is_unsigned;
    const auto boolean = [](bool value) { return Number{value ? 1 : 0, false}; };
    const auto number = [&](std::uint64_t value) { return Number{static_cast<std::int64_t>(value), u}; };
    if (op == "||") return boolean(a.bits != 0 || b.bits != 0);
    if (op == "&&") return boolean(a.bits != 0 && b.bits != 0);
    if (op == "|") return number(x | y);
    if (op == "^") return number(x ^ y);
    if (op == "&") return number(x & y);
    if (op == "==") return boolean(x == y);
    if (op == "!=") return boolean(x != y);
    if (op == "<") return boolean(u ? x < y : a.bits < b.bits);
    if (op == ">") return boolean(u ? x > y : a.bits > b.bits);
    if (op == "<=") return boolean(u ? x <= y : a.bits <= b.bits);
    if (op == ">=") return boolean(u ? x >= y : a.bits >= b.bits);
    if (op == "<<") return Number{y < 64 ? static_cast<std::int64_t>(x << y) : 0, a.is_unsigned};
    if (op == ">>")
      return Number{y < 64 ? (a.is_unsigned ? static_cast<std::int64_t>(x >> y) : a.bits >> y) : 0, a.is_unsigned};
    if (op == "+") return number(x + y);
    if (op == "-") return number(x - y);
    if (op == "*") return number(x * y);
    if (y == 0) {
      if (live) return fail("division by zero in an #if condition");
      return number(0);
    }
    if (u) return number(op == "/" ? x / y : x % y);
    if (b.bits == -1) return number(op == "/" ? 0 - x : 0);  // the smallest number divided by -1 would trap
    return number(static_cast<std::uint64_t>(op == "/" ? a.bits / b.bits : a.bits % b.bits));
  }

  Result<Number> unary(bool live) {
    if (++depth_ > max_depth) return fail("an #if condition is nested too deeply");
    KW_TRY(const Number value, operand(live));
    --depth_;
    return value;
  }

  Result<Number> operand(bool live) {
    if (at_ >= tokens_.size()) return fail("an #if condition ends too early");
    const Token& token = tokens_[at_];
    if (take("(")) {
      KW_TRY(const Number value, ternary(live));
      if (!take(")")) return fail("expected `)` in an #if condition");
      return value;
    }
    if (take("!")) {
      KW_TRY(const Number value, unary(live));
      return Number{value.bits == 0 ? 1 : 0, false};
    }
    if (take("-")) {
      KW_TRY(const Number value, unary(live));
      return Number{static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value.bits)), value.is_unsigned};
    }
    if (take("+")) return unary(live);
    if (take("~")) {
      KW_TRY(const Number value, unary(live));
      return Number{~value.bits, value.is_unsigned};
    }
    if (token.kind == TokenKind::number) return number(token);
    if (token.kind == TokenKind::identifier) {
      ++at_;
      if (at_ < tokens_.size() && tokens_[at_].is("(")) {
        --at_;
        return fail("an #if condition uses " + std::string(token.text) + ", which is not known");
      }
      return Number{token.is("true") ? 1 : 0, false};
    }
    return fail("`" + std::string(token.text.substr(0, 40)) + "` cannot stand in an #if condition");
  }

  Result<Number> number(const Token& token) {
    std::string digits;
    for (const char c : token.text) {
      if (c != '\'') digits += c;
    }
    bool is_unsigned = false;
    while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
      is_unsigned = is_unsigned || digits.back() == 'u' || digits.back() == 'U';
      digits.pop_back();
    }
    int base = 10;
    std::string_view rest = digits;
    if (rest.size() > 1 && rest[0] == '0') {
      const char c = rest[1];
      base = c == 'x' || c == 'X' ? 16 : c == 'b' || c == 'B' ? 2 : 8;
      rest.remove_prefix(base == 8 ? 1 : 2);
    }
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (code != std::errc() || end != rest.data() + rest.size()) {
      return fail("`" + std::string(token.text.substr(0, 40)) + "` is not a whole number that #if can use");
    }
    ++at_;
    return Number{static_cast<std::int64_t>(value), is_unsigned || value >> 63 != 0};
  }

  std::span<const Token> tokens_;
  const Token& directive_;
  std::string_view file_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<bool> evaluate_condition(std::span<const Token> tokens, const Token& directive, std::string_view file) {
  return Condition(tokens, directive, file).run();
}

}  // namespace kw
