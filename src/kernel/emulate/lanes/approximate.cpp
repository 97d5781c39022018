// The approximate functions: rcp, sqrt, rsqrt, div, sin, cos, lg2, ex2, tanh. Computed in double with an error far
// below half a float's last place and rounded once, so that they are the same in every build; the hardware differs from
// them in its last bits, as PTX allows.
#include "kernel/emulate/lanes/number.h"

namespace kw::KW_LANES {
namespace {

constexpr double to_whole = 0x1.8p52;  // adding it leaves a whole number in the low bits

// Taylor series in f ln 2, |f| <= 1/2: the first term left out is 2e-13 of the result.
double power_of_two(double x) {
  x = x > 2000.0 ? 2000.0 : x < -2000.0 ? -2000.0 : x;
  const double shifted = x + to_whole;
  const double f = (x - (shifted - to_whole)) * 0.693147180559945309417;
  double sum = 1.0 / 3628800;
  sum = sum * f + 1.0 / 362880;
  sum = sum * f + 1.0 / 40320;
  sum = sum * f + 1.0 / 5040;
  sum = sum * f + 1.0 / 720;
  sum = sum * f + 1.0 / 120;
  sum = sum * f + 1.0 / 24;
  sum = sum * f + 1.0 / 6;
  sum = sum * f + 0.5;
  sum = sum * f + 1.0;
  sum = sum * f + 1.0;
  const u64 n = bits_as<u64>(shifted) - bits_as<u64>(to_whole);
  const double unclamped = sum * bits_as<double>((n + 1023) << 52);
  return x > 1000.0 ? __builtin_inf() : x < -1000.0 ? 0.0 : unclamped;
}

// log2 m = 2 / ln 2 * atanh((m - 1) / (m + 1)), m in [sqrt 1/2, sqrt 2): |s| <= 0.172, the first term left out is
// 2e-14.
double logarithm(double x) {
  const u64 bits = bits_as<u64>(x);
  const double m_whole = bits_as<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const bool upper = m_whole > 1.41421356237309504880;
  const double m = upper ? m_whole * 0.5 : m_whole;
  const double biased = bits_as<double>(((bits >> 52) & 0x7ff) | 0x4330000000000000u) - 0x1p52;
  const double exponent = biased - (upper ? 1022.0 : 1023.0);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  double sum = 1.0 / 17;
  sum = sum * square + 1.0 / 15;
  sum = sum * square + 1.0 / 13;
  sum = sum * square + 1.0 / 11;
  sum = sum * square + 1.0 / 9;
  sum = sum * square + 1.0 / 7;
  sum = sum * square + 1.0 / 5;
  sum = sum * square + 1.0 / 3;
  sum = sum * square + 1.0;
  const double result = exponent + s * sum * 2.88539008177792681472;
  const double special = x == 0 ? -__builtin_inf() : x < 0 ? bits_as<double>(nan64) : x;  // infinity and NaN stay
  return x > 0 && x < __builtin_inf() ? result : special;
}

// sin(2 pi t): folded into a quarter turn, Taylor series, the first term left out is 1e-14.
double sine_of_turns(double t) {
  const double fraction = t - ((t + to_whole) - to_whole);
  const double r = absolute(t) < 0x1p25 ? fraction : 0.0;  // a float beyond 2^24 is a whole number of turns
  const double folded = r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
  const double x = folded * 6.28318530717958647693, square = x * x;
  double sum = 1.0 / 355687428096000;
  sum = sum * square - 1.0 / 1307674368000;
  sum = sum * square + 1.0 / 6227020800;
  sum = sum * square - 1.0 / 39916800;
  sum = sum * square + 1.0 / 362880;
  sum = sum * square - 1.0 / 5040;
  sum = sum * square + 1.0 / 120;
  sum = sum * square - 1.0 / 6;
  return x * (sum * square + 1.0);
}
// As the hardware does it: the angle in turns is a float, rounded towards zero, so that a large argument is as
// imprecise here as there.
double turns(float x) {
  return static_cast<double>(narrowed<Rounding::zero>(static_cast<double>(x) * static_cast<double>(0.15915494f)));
}
float sine(float x) {
  const double result = sine_of_turns(turns(x));
  const float signed_zero = bits_as<float>(bits_as<u32>(x) & 0x80000000u);
  return absolute(x) < __builtin_inff() ? (result == 0 ? signed_zero : static_cast<float>(result))
                                        : bits_as<float>(nan32);
}
float cosine(float x) {
  const double t = turns(x);
  const double result = absolute(t) < 0x1p24 ? sine_of_turns(absolute(t) + 0.25) : 1.0;
  return absolute(x) < __builtin_inff() ? static_cast<float>(result) : bits_as<float>(nan32);
}

double hyperbolic_tangent(double x) {
  const double magnitude = absolute(x);
  const double power = power_of_two((magnitude > 30.0 ? 30.0 : magnitude) * 2.88539008177792681472);
  const double square = x * x;
  const double large = (power - 1.0) / (power + 1.0);
  const double small = magnitude * (1.0 - square * (1.0 / 3 - square * (2.0 / 15)));
  const double result = magnitude < 0x1p-8 ? small : large;
  const u64 sign = bits_as<u64>(x) & 0x8000000000000000u;
  return is_nan(x) ? x : bits_as<double>(bits_as<u64>(result) | sign);
}

template <bool ftz, class Op>
struct Finished {
  template <class... V>
  float operator()(V... values) const {
    if constexpr (ftz) {
      return canonical(flushed(Op{}(flushed(values)...)));
    } else {
      return canonical(Op{}(values...));
    }
  }
};
template <class... S, class Op>
void add_single(const LaneTable& table, const char* name, Op) {
  add_row<F32, S...>(table, Text(name, ".f32").text, Finished<false, Op>{});
  add_row<F32, S...>(table, Text(name, ".ftz.f32").text, Finished<true, Op>{});
}

// The f64 approximations read and write the upper 32 bits only, and flush subnormals.
template <class Op>
struct UpperHalf {
  double operator()(double x) const {
    const u64 bits = bits_as<u64>(x) & 0xffffffff00000000u;
    const u64 flushed_bits = (bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits;
    const u64 result = bits_as<u64>(Op{}(bits_as<double>(flushed_bits)));
    const u64 rounded = (result + 0x80000000u) & 0xffffffff00000000u;
    const bool nan = is_nan(bits_as<double>(result));
    const bool subnormal = (rounded & 0x7ff0000000000000u) == 0;
    return bits_as<double>(nan ? 0x7fffffff00000000u : subnormal ? rounded & 0x8000000000000000u : rounded);
  }
};

template <class T, bool ftz, class Op>
struct FinishedHalf {
  float operator()(float x) const {
    const float result = narrowed_to_odd(Op{}(static_cast<double>(ftz ? flushed_as<T>(x) : x)));
    return ftz ? flushed_as<T>(T::read(T::write(result))) : result;
  }
};

}  // namespace

void add_approximate_rows(const LaneTable& table) {
  // Division and root of floats by way of double round as if done once (53 >= 2 * 24 + 2), which is the float operation
  // itself.
  auto divide = [](float a, float b) { return a / b; };
  add_single<F32>(table, "rcp.approx", [](float a) { return 1.0f / a; });
  add_single<F32>(table, "sqrt.approx", [](float a) { return __builtin_sqrtf(a); });
  add_single<F32>(table, "rsqrt.approx",
                  [](float a) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a))); });
  add_single<F32, F32>(table, "div.full", divide);
  // The reciprocal of a divisor above 2^126 is subnormal and lost.
  add_single<F32, F32>(table, "div.approx", [](float a, float b) {
    const bool lost = absolute(b) > 0x1p126f && absolute(b) < __builtin_inff();
    const u32 sign = (bits_as<u32>(a) ^ bits_as<u32>(b)) & 0x80000000u;
    const float without = absolute(a) < __builtin_inff() ? bits_as<float>(sign) : bits_as<float>(nan32);
    return lost ? without : a / b;
  });
  add_single<F32>(table, "sin.approx", [](float a) { return sine(a); });
  add_single<F32>(table, "cos.approx", [](float a) { return cosine(a); });
  add_single<F32>(table, "lg2.approx", [](float a) { return static_cast<float>(logarithm(static_cast<double>(a))); });
  auto ex2 = [](auto a) { return power_of_two(static_cast<double>(a)); };
  auto tanh = [](auto a) { return hyperbolic_tangent(static_cast<double>(a)); };
  add_single<F32>(table, "ex2.approx",
                  [](float a) { return static_cast<float>(power_of_two(static_cast<double>(a))); });
  // PTX promises 2^-11 of the value, and the hardware needs it: a kernel must not be right here alone.
  add_row<F32, F32>(table, "tanh.approx.f32", [](float a) {
    const float exact = canonical(static_cast<float>(hyperbolic_tangent(static_cast<double>(a))));
    const bool normal = absolute(exact) >= 0x1p-126f;  // neither a NaN
    return normal ? bits_as<float>(bits_as<u32>(exact) & ~u32{0xfff}) : exact;
  });

  add_row<F16, F16>(table, "ex2.approx.f16", FinishedHalf<F16, false, decltype(ex2)>{});
  add_row<F16x2, F16x2>(table, "ex2.approx.f16x2", FinishedHalf<F16, false, decltype(ex2)>{});
  add_row<BF16, BF16>(table, "ex2.approx.ftz.bf16", FinishedHalf<BF16, true, decltype(ex2)>{});
  add_row<BF16x2, BF16x2>(table, "ex2.approx.ftz.bf16x2", FinishedHalf<BF16, true, decltype(ex2)>{});
  add_row<F16, F16>(table, "tanh.approx.f16", FinishedHalf<F16, false, decltype(tanh)>{});
  add_row<F16x2, F16x2>(table, "tanh.approx.f16x2", FinishedHalf<F16, false, decltype(tanh)>{});
  add_row<BF16, BF16>(table, "tanh.approx.bf16", FinishedHalf<BF16, false, decltype(tanh)>{});
  add_row<BF16x2, BF16x2>(table, "tanh.approx.bf16x2", FinishedHalf<BF16, false, decltype(tanh)>{});

  auto rcp = [](double a) { return 1.0 / a; };
  auto rsqrt = [](double a) { return 1.0 / __builtin_sqrt(a); };
  add_row<F64, F64>(table, "rcp.approx.ftz.f64", UpperHalf<decltype(rcp)>{});
  add_row<F64, F64>(table, "rsqrt.approx.ftz.f64", UpperHalf<decltype(rsqrt)>{});
  add_row<F64, F64>(table, "rsqrt.approx.f64", [](double a) {
    const double result = 1.0 / __builtin_sqrt(a);
    const double invalid = bits_as<double>(is_nan(a) ? bits_as<u64>(a) | 0x0008000000000000u : nan64);
    return is_nan(result) ? invalid : result;
  });
}

}  // namespace kw::KW_LANES
