#include "agents/program/scalar_operation.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace kw::program {
namespace {

using Real = double;
using Whole = std::int64_t;

Whole wrap_add(Whole a, Whole b) {
  return static_cast<Whole>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Whole wrap_subtract(Whole a, Whole b) {
  return static_cast<Whole>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
Whole wrap_multiply(Whole a, Whole b) {
  return static_cast<Whole>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// The compiler's undefined cases are 0 here; PyTorch raises an error or has no promise there.
bool undivided(Whole a, Whole b) { return b == 0 || (a == std::numeric_limits<Whole>::min() && b == -1); }
Whole floor_quotient(Whole a, Whole b) {
  if (undivided(a, b)) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
Whole floor_rest(Whole a, Whole b) {
  if (undivided(a, b)) return 0;
  const Whole rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Real floor_rest_real(Real a, Real b) {
  const Real rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Whole whole_power(Whole base, Whole exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  Whole made = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) made = wrap_multiply(made, base);
    base = wrap_multiply(base, base);
  }
  return made;
}
// A comparison with NaN is false, and PyTorch's maximum gives NaN where one of both is.
Real real_minimum(Real a, Real b) { return std::isnan(a) || a < b ? a : b; }
Real real_maximum(Real a, Real b) { return std::isnan(a) || a > b ? a : b; }
Whole whole_shift_left(Whole a, Whole b) {
  return b < 0 || b > 63 ? 0 : static_cast<Whole>(static_cast<std::uint64_t>(a) << b);
}
Whole whole_shift_right(Whole a, Whole b) { return a >> (b < 0 || b > 63 ? 63 : b); }
Real frexp_exponent_of(Real a, Real) {
  int exponent = 0;
  std::frexp(a, &exponent);
  return exponent;
}

#define KW_REAL(expression)    \
  [](Real a, Real b) -> Real { \
    (void)b;                   \
    return expression;         \
  }
#define KW_WHOLE(expression)      \
  [](Whole a, Whole b) -> Whole { \
    (void)b;                      \
    return expression;            \
  }
#define KW_CALL(name, cost) \
  {ScalarOp::name, #name, "", 1, #name "f($0)", #name "($0)", "", cost, KW_REAL(std::name(a)), nullptr}

// clang-format off
const std::array<ScalarOperation, scalar_op_count> rows{{
    {ScalarOp::add, "add", "+", 2, "$0 + $1", "$0 + $1", "$0 + $1", 1, KW_REAL(a + b), wrap_add},
    {ScalarOp::subtract, "subtract", "-", 2, "$0 - $1", "$0 - $1", "$0 - $1", 1, KW_REAL(a - b), wrap_subtract},
    {ScalarOp::multiply, "multiply", "*", 2, "$0 * $1", "$0 * $1", "$0 * $1", 1, KW_REAL(a * b), wrap_multiply},
    {ScalarOp::divide, "divide", "/", 2, "$0 / $1", "$0 / $1", "$0 / $1", 4, KW_REAL(a / b),
     KW_WHOLE(undivided(a, b) ? 0 : a / b)},
    {ScalarOp::floor_divide, "floor_divide", "//", 2, "floorf($0 / $1)", "floor($0 / $1)", "floor_quotient($0, $1)", 6,
     KW_REAL(std::floor(a / b)), floor_quotient},
    {ScalarOp::remainder, "remainder", "%", 2, "floor_rest($0, $1)", "floor_rest($0, $1)", "floor_rest($0, $1)", 8,
     floor_rest_real, floor_rest},
    {ScalarOp::truncated_remainder, "fmod", "", 2, "fmodf($0, $1)", "fmod($0, $1)", "$0 % $1", 8, KW_REAL(std::fmod(a, b)),
     KW_WHOLE(undivided(a, b) ? 0 : a % b)},
    {ScalarOp::power, "power", "**", 2, "powf($0, $1)", "pow($0, $1)", "whole_power($0, $1)", 20, KW_REAL(std::pow(a, b)),
     whole_power},
    {ScalarOp::minimum, "minimum", "", 2, "lesser($0, $1)", "lesser($0, $1)", "lesser($0, $1)", 2, real_minimum,
     KW_WHOLE(a < b ? a : b)},
    {ScalarOp::maximum, "maximum", "", 2, "greater($0, $1)", "greater($0, $1)", "greater($0, $1)", 2, real_maximum,
     KW_WHOLE(a > b ? a : b)},
    {ScalarOp::atan2, "atan2", "", 2, "atan2f($0, $1)", "atan2($0, $1)", "", 20, KW_REAL(std::atan2(a, b)), nullptr},
    {ScalarOp::ldexp, "ldexp", "", 2, "ldexpf($0, (int)$1)", "ldexp($0, (int)$1)", "", 4,
     KW_REAL(std::ldexp(a, static_cast<int>(b))), nullptr},
    {ScalarOp::bit_and, "bit_and", "&", 2, "", "", "$0 & $1", 1, nullptr, KW_WHOLE(a & b)},
    {ScalarOp::bit_or, "bit_or", "|", 2, "", "", "$0 | $1", 1, nullptr, KW_WHOLE(a | b)},
    {ScalarOp::bit_xor, "bit_xor", "^", 2, "", "", "$0 ^ $1", 1, nullptr, KW_WHOLE(a ^ b)},
    {ScalarOp::shift_left, "shift_left", "<<", 2, "", "", "$0 << $1", 1, nullptr, whole_shift_left},
    {ScalarOp::shift_right, "shift_right", ">>", 2, "", "", "$0 >> $1", 1, nullptr, whole_shift_right},
    {ScalarOp::less, "less", "<", 2, "$0 < $1", "$0 < $1", "$0 < $1", 1, KW_REAL(a < b ? 1 : 0), KW_WHOLE(a < b ? 1 : 0)},
    {ScalarOp::less_equal, "less_equal", "<=", 2, "$0 <= $1", "$0 <= $1", "$0 <= $1", 1, KW_REAL(a <= b ? 1 : 0),
     KW_WHOLE(a <= b ? 1 : 0)},
    {ScalarOp::equal, "equal", "==", 2, "$0 == $1", "$0 == $1", "$0 == $1", 1, KW_REAL(a == b ? 1 : 0),
     KW_WHOLE(a == b ? 1 : 0)},
    {ScalarOp::not_equal, "not_equal", "!=", 2, "$0 != $1", "$0 != $1", "$0 != $1", 1, KW_REAL(a != b ? 1 : 0),
     KW_WHOLE(a != b ? 1 : 0)},
    {ScalarOp::logical_and, "and", "&&", 2, "", "", "$0 && $1", 1, nullptr, KW_WHOLE(a != 0 && b != 0 ? 1 : 0)},
    {ScalarOp::logical_or, "or", "||", 2, "", "", "$0 || $1", 1, nullptr, KW_WHOLE(a != 0 || b != 0 ? 1 : 0)},
    {ScalarOp::logical_not, "not", "", 1, "", "", "!$0", 1, nullptr, KW_WHOLE(a == 0 ? 1 : 0)},
    {ScalarOp::bit_not, "bit_not", "", 1, "", "", "~$0", 1, nullptr, KW_WHOLE(~a)},
    {ScalarOp::negate, "negate", "", 1, "-$0", "-$0", "-$0", 1, KW_REAL(-a), KW_WHOLE(wrap_subtract(0, a))},
    {ScalarOp::absolute, "abs", "", 1, "fabsf($0)", "fabs($0)", "($0 < 0 ? -$0 : $0)", 1, KW_REAL(std::fabs(a)),
     KW_WHOLE(a < 0 ? wrap_subtract(0, a) : a)},
    {ScalarOp::sign, "sign", "", 1, "sign_of($0)", "sign_of($0)", "sign_of($0)", 3,
     KW_REAL(std::isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0), KW_WHOLE(a > 0 ? 1 : a < 0 ? -1 : 0)},
    {ScalarOp::floor, "floor", "", 1, "floorf($0)", "floor($0)", "$0", 1, KW_REAL(std::floor(a)), KW_WHOLE(a)},
    {ScalarOp::ceil, "ceil", "", 1, "ceilf($0)", "ceil($0)", "$0", 1, KW_REAL(std::ceil(a)), KW_WHOLE(a)},
    {ScalarOp::round, "round", "", 1, "rintf($0)", "rint($0)", "$0", 1, KW_REAL(std::nearbyint(a)), KW_WHOLE(a)},
    {ScalarOp::truncate, "trunc", "", 1, "truncf($0)", "trunc($0)", "$0", 1, KW_REAL(std::trunc(a)), KW_WHOLE(a)},
    {ScalarOp::square_root, "sqrt", "", 1, "sqrtf($0)", "sqrt($0)", "", 4, KW_REAL(std::sqrt(a)), nullptr},
    {ScalarOp::reciprocal_root, "rsqrt", "", 1, "rsqrtf($0)", "rsqrt($0)", "", 4, KW_REAL(1 / std::sqrt(a)), nullptr},
    KW_CALL(exp, 8), KW_CALL(exp2, 6), KW_CALL(expm1, 12), KW_CALL(log, 10), KW_CALL(log2, 8), KW_CALL(log10, 10),
    KW_CALL(log1p, 12), KW_CALL(sin, 16), KW_CALL(cos, 16), KW_CALL(tan, 20), KW_CALL(asin, 20), KW_CALL(acos, 20),
    KW_CALL(atan, 20), KW_CALL(sinh, 16), KW_CALL(cosh, 16), KW_CALL(tanh, 16), KW_CALL(asinh, 20), KW_CALL(acosh, 20),
    KW_CALL(atanh, 20), KW_CALL(erf, 16), KW_CALL(erfc, 20), KW_CALL(lgamma, 30),
    {ScalarOp::is_nan, "isnan", "", 1, "isnan($0)", "isnan($0)", "", 1, KW_REAL(std::isnan(a) ? 1 : 0), nullptr},
    {ScalarOp::is_infinite, "isinf", "", 1, "isinf($0)", "isinf($0)", "", 1, KW_REAL(std::isinf(a) ? 1 : 0), nullptr},
    {ScalarOp::frexp_exponent, "frexp_exponent", "", 1, "frexp_exponent($0)", "frexp_exponent($0)", "", 6, frexp_exponent_of,
     nullptr},
    {ScalarOp::select, "select", "", 3, "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2", 1, nullptr, nullptr},
    {ScalarOp::cast, "cast", "", 1, "", "", "", 1, nullptr, nullptr},
}};
// clang-format on

}  // namespace

const ScalarOperation& operation_of(ScalarOp op) {
  const ScalarOperation& row = rows.at(static_cast<std::size_t>(op));
  KW_CHECK(row.op == op);
  return row;
}

bool gives_bool(ScalarOp op) {
  return (op >= ScalarOp::less && op <= ScalarOp::logical_not) || op == ScalarOp::is_nan || op == ScalarOp::is_infinite;
}

Dtype computed_as(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16 ? Dtype::float32 : dtype; }

std::int64_t wrapped(std::int64_t value, Dtype dtype) {
  switch (dtype) {
    case Dtype::int32:
      return static_cast<std::int32_t>(value);
    case Dtype::int8:
      return static_cast<std::int8_t>(value);
    case Dtype::uint8:
      return static_cast<std::uint8_t>(value);
    case Dtype::boolean:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

Scalar cast_scalar(const Scalar& value, Dtype from, Dtype to) {
  if (is_floating_point(from)) {
    if (is_floating_point(to)) return {value.real, 0};
    if (to == Dtype::boolean) return {0, value.real != 0 ? 1 : 0};
    // What no whole number holds has no promised value.
    if (!(std::fabs(value.real) < 9.2e18)) return {0, 0};
    return {0, wrapped(static_cast<std::int64_t>(value.real), to)};
  }
  if (is_floating_point(to)) return {static_cast<double>(value.whole), 0};
  return {0, wrapped(value.whole, to)};
}

}  // namespace kw::program
