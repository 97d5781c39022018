// Constant expressions (PTX ISA 9.0, section 4.6): 64-bit integers, signed unless an operand is unsigned, with C's
// operators and precedences; floating-point constants take a sign only.

#include <bit>

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

enum class Operator : std::uint8_t {
  none,
  or_logical,
  and_logical,
  or_bits,
  xor_bits,
  and_bits,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  shift_left,
  shift_right,
  add,
  subtract,
  multiply,
  divide,
  remainder
};

struct OperatorToken {
  Operator op = Operator::none;
  int precedence = 0;
  int characters = 1;
};

OperatorToken operator_at(const PtxLexer& lexer) {
  const PtxToken& token = lexer.current();
  if (token.kind != PtxTokenKind::punctuation) return {};
  switch (token.text[0]) {
    case '|':
      return lexer.followed_by('|') ? OperatorToken{Operator::or_logical, 1, 2}
                                    : OperatorToken{Operator::or_bits, 3, 1};
    case '&':
      return lexer.followed_by('&') ? OperatorToken{Operator::and_logical, 2, 2}
                                    : OperatorToken{Operator::and_bits, 5, 1};
    case '^':
      return {Operator::xor_bits, 4, 1};
    case '=':
      return lexer.followed_by('=') ? OperatorToken{Operator::equal, 6, 2} : OperatorToken{};
    case '!':
      return lexer.followed_by('=') ? OperatorToken{Operator::unequal, 6, 2} : OperatorToken{};
    case '<':
      if (lexer.followed_by('<')) return {Operator::shift_left, 8, 2};
      return lexer.followed_by('=') ? OperatorToken{Operator::less_equal, 7, 2} : OperatorToken{Operator::less, 7, 1};
    case '>':
      if (lexer.followed_by('>')) return {Operator::shift_right, 8, 2};
      return lexer.followed_by('=') ? OperatorToken{Operator::greater_equal, 7, 2}
                                    : OperatorToken{Operator::greater, 7, 1};
    case '+':
      return {Operator::add, 9, 1};
    case '-':
      return {Operator::subtract, 9, 1};
    case '*':
      return {Operator::multiply, 10, 1};
    case '/':
      return {Operator::divide, 10, 1};
    case '%':
      return {Operator::remainder, 10, 1};
    default:
      return {};
  }
}

bool apply(PtxParser& parser, Operator op, const PtxConstant& a, const PtxConstant& b, PtxConstant& result) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const std::uint64_t x = a.bits, y = b.bits;
  const auto sx = static_cast<std::int64_t>(x), sy = static_cast<std::int64_t>(y);
  const bool less = is_unsigned ? x < y : sx < sy;
  PtxConstant made;
  made.is_unsigned = is_unsigned;
  switch (op) {
    case Operator::or_logical:
      made = {x != 0 || y != 0 ? 1u : 0u, false, false, false};
      break;
    case Operator::and_logical:
      made = {x != 0 && y != 0 ? 1u : 0u, false, false, false};
      break;
    case Operator::or_bits:
      made.bits = x | y;
      break;
    case Operator::xor_bits:
      made.bits = x ^ y;
      break;
    case Operator::and_bits:
      made.bits = x & y;
      break;
    case Operator::equal:
      made = {x == y ? 1u : 0u, false, false, false};
      break;
    case Operator::unequal:
      made = {x != y ? 1u : 0u, false, false, false};
      break;
    case Operator::less:
      made = {less ? 1u : 0u, false, false, false};
      break;
    case Operator::less_equal:
      made = {less || x == y ? 1u : 0u, false, false, false};
      break;
    case Operator::greater:
      made = {!less && x != y ? 1u : 0u, false, false, false};
      break;
    case Operator::greater_equal:
      made = {!less ? 1u : 0u, false, false, false};
      break;
    case Operator::shift_left:
      made.bits = y > 63 ? 0 : x << y;
      made.is_unsigned = a.is_unsigned;
      break;
    case Operator::shift_right:
      made.is_unsigned = a.is_unsigned;
      if (a.is_unsigned)
        made.bits = y > 63 ? 0 : x >> y;
      else
        made.bits = static_cast<std::uint64_t>(sx >> (y > 63 ? 63 : y));
      break;
    case Operator::add:
      made.bits = x + y;
      break;
    case Operator::subtract:
      made.bits = x - y;
      break;
    case Operator::multiply:
      made.bits = x * y;
      break;
    case Operator::divide:
    case Operator::remainder: {
      if (y == 0) return fail(parser, "a constant expression divides by zero");
      const bool divide = op == Operator::divide;
      if (is_unsigned)
        made.bits = divide ? x / y : x % y;
      else if (sy == -1)
        made.bits = divide ? ~x + 1 : 0;  // the quotient may overflow
      else
        made.bits = static_cast<std::uint64_t>(divide ? sx / sy : sx % sy);
      break;
    }
    case Operator::none:
      break;
  }
  result = made;
  return true;
}

bool parse_level(PtxParser& parser, int lowest, std::size_t depth, PtxConstant& constant);

bool parse_conditional(PtxParser& parser, std::size_t depth, PtxConstant& constant) {
  if (!parse_level(parser, 1, depth, constant)) return false;
  if (constant.is_floating || !parser.lexer.current().is('?')) return true;
  parser.lexer.advance();
  PtxConstant yes, no;
  if (!parse_conditional(parser, depth + 1, yes) || !expect(parser, ':') || !parse_conditional(parser, depth + 1, no)) {
    return false;
  }
  constant = constant.bits != 0 ? yes : no;
  return true;
}

// `(.s64)` and `(.u64)`; the caller has seen `(` and a dotted token.
bool parse_cast(PtxParser& parser, bool& is_unsigned) {
  const PtxToken type = parser.lexer.current();
  if (!type.is_dotted(".s64") && !type.is_dotted(".u64"))
    return fail(parser, "a constant is cast to .s64 or .u64 only");
  is_unsigned = type.text == ".u64";
  parser.lexer.advance();
  return expect(parser, ')');
}

bool parse_unary(PtxParser& parser, std::size_t depth, PtxConstant& constant) {
  if (depth > max_ptx_expression_depth) return fail(parser, "this constant expression is nested too deeply");
  const PtxToken token = parser.lexer.current();
  if (token.kind == PtxTokenKind::integer || token.kind == PtxTokenKind::floating) {
    constant = {token.number, token.kind == PtxTokenKind::floating, token.is_single, token.is_unsigned};
    if (constant.is_floating)
      constant.is_unsigned = false;
    else
      constant.is_single = false;
    parser.lexer.advance();
    return true;
  }
  if (token.is_identifier("WARP_SZ")) {
    constant = {32, false, false, false};
    parser.lexer.advance();
    return true;
  }
  if (token.kind == PtxTokenKind::punctuation) {
    const char c = token.text[0];
    if (c == '(') {
      parser.lexer.advance();
      if (parser.lexer.current().kind == PtxTokenKind::dotted) {
        bool is_unsigned = false;
        if (!parse_cast(parser, is_unsigned) || !parse_unary(parser, depth + 1, constant)) return false;
        if (constant.is_floating) return fail(parser, token, "only integers can be cast in a constant expression");
        constant.is_unsigned = is_unsigned;
        return true;
      }
      return parse_conditional(parser, depth + 1, constant) && expect(parser, ')');
    }
    if (c == '-' || c == '+' || c == '~' || c == '!') {
      parser.lexer.advance();
      if (!parse_unary(parser, depth + 1, constant)) return false;
      if (constant.is_floating) {
        if (c == '-')
          constant.bits ^= std::uint64_t{1} << 63;
        else if (c != '+')
          return fail(parser, token, "this operator needs an integer");
        return true;
      }
      if (c == '-') constant.bits = ~constant.bits + 1;
      if (c == '~') constant.bits = ~constant.bits;
      if (c == '!') constant = {constant.bits == 0 ? 1u : 0u, false, false, false};
      return true;
    }
  }
  return fail(parser, "expected a constant");
}

bool parse_level(PtxParser& parser, int lowest, std::size_t depth, PtxConstant& constant) {
  if (!parse_unary(parser, depth, constant)) return false;
  while (true) {
    const OperatorToken next = operator_at(parser.lexer);
    if (next.op == Operator::none || next.precedence < lowest) return true;
    if (constant.is_floating) return fail(parser, "arithmetic in a constant expression needs integers");
    for (int i = 0; i < next.characters; ++i) parser.lexer.advance();
    PtxConstant right;
    if (!parse_level(parser, next.precedence + 1, depth + 1, right)) return false;
    if (right.is_floating) return fail(parser, "arithmetic in a constant expression needs integers");
    if (!apply(parser, next.op, constant, right, constant)) return false;
  }
}

}  // namespace

bool parse_constant(PtxParser& parser, PtxConstant& constant) { return parse_conditional(parser, 0, constant); }

bool parse_integer_constant(PtxParser& parser, std::int64_t& value) {
  PtxConstant constant;
  const PtxToken at = parser.lexer.current();
  if (!parse_constant(parser, constant)) return false;
  if (constant.is_floating) return fail(parser, at, "expected an integer");
  value = static_cast<std::int64_t>(constant.bits);
  return true;
}

}  // namespace kw
