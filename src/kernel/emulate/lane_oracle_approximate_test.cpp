// The approximate functions by the C library's long double ones; the tolerance is far inside what PTX allows.
#include <bit>
#include <cmath>

#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

long double value_of(Format format, std::uint64_t bits, bool ftz) {
  Number number = decode(format, bits);
  if (ftz) number = flushed(format, number);
  if (number.kind == Number::Kind::nan) return std::nanl("");
  if (number.kind == Number::Kind::infinite) return number.negative ? -HUGE_VALL : HUGE_VALL;
  const long double magnitude =
      std::ldexp(static_cast<long double>(static_cast<std::uint64_t>(number.magnitude)), number.exponent);
  return number.negative ? -magnitude : magnitude;
}

Number number_of(long double value) {
  Number number;
  number.negative = std::signbit(value);
  if (std::isnan(value)) number.kind = Number::Kind::nan;
  if (std::isinf(value)) number.kind = Number::Kind::infinite;
  if (!std::isfinite(value) || value == 0) return number;
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(value), &exponent);
  number.magnitude = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
  number.exponent = exponent - 64;
  return number;
}

// The hardware's argument of sin and cos: a float number of turns, rounded towards zero.
long double turns(std::uint64_t bits, bool ftz) {
  const Format single{8, 23};
  Number x = decode(single, bits);
  if (ftz) x = flushed(single, x);
  const Number product = multiply(x, decode(single, std::bit_cast<std::uint32_t>(0.15915494f)));
  return value_of(single, encode(single, product, Round::zero), false);
}

}  // namespace

std::optional<Outcome> expected_approximation(const Form& form, const Operands& o) {
  if (!form.has("approx") && !form.has("full")) return std::nullopt;
  const std::string& op = form.opcode;
  const bool ftz = form.has("ftz"), pair = form.types[0].ends_with("x2");
  const Format format = *format_of(form.types[0]);
  const int width = format.bits();
  Outcome outcome;
  outcome.value = 0;
  for (int half = 0; half < (pair ? 2 : 1); ++half) {
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    std::uint64_t a_bits = (o.value[0] >> (width * half)) & mask;
    const std::uint64_t b_bits = (o.value[1] >> (width * half)) & mask;
    const bool upper_half = width == 64 && ftz;  // reads and writes 32 bits
    if (upper_half) a_bits &= 0xffffffff00000000u;
    const long double a = value_of(format, a_bits, ftz), b = value_of(format, b_bits, ftz);
    const long double two_pi = 6.283185307179586476925286766559L;
    long double result = 0;
    if (op == "rcp") result = 1 / a;
    if (op == "sqrt") result = std::sqrt(a);
    if (op == "rsqrt") result = 1 / std::sqrt(a);
    if (op == "div") result = a / b;
    if (op == "ex2") result = std::exp2(a);
    if (op == "lg2") result = std::log2(a);
    if (op == "tanh") result = std::tanh(a);
    if (op == "sin" || op == "cos") {
      const long double t = std::fmod(turns(a_bits, ftz), 1.0L);
      result = op == "sin" ? std::sin(two_pi * t) : std::cos(two_pi * t);
      if (std::isinf(a)) result = std::nanl("");
    }
    if (op == "div" && form.has("approx") && std::fabs(b) > 0x1p126L && std::isfinite(b))
      result = !std::isfinite(a) ? std::nanl("") : std::copysign(0.0L, a) * std::copysign(1.0L, b);
    std::uint64_t bits = encode(format, number_of(result), Round::nearest, ftz);
    if (width == 64 && std::isnan(result))
      bits = upper_half ? 0x7fffffff00000000u : std::isnan(a) ? a_bits | 0x0008000000000000u : 0xfff8000000000000u;
    *outcome.value |= bits << (width * half);
  }
  // At a tie of the last bit both neighbours are as good; the error of the double computation is some 2^-40.
  outcome.tolerance = width == 64 ? (ftz ? 0x1p-19 : 0x1p-50) : width == 32 ? 0x1p-22 : 0x1p-7;
  if (op == "tanh" && width == 32) outcome.tolerance = 0x1p-11;  // as imprecise as the hardware
  outcome.absolute_tolerance = op == "sin" || op == "cos" ? 0x1p-40 : 0;
  return outcome;
}

}  // namespace kw::oracle
