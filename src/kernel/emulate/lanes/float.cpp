// f32 and f64 arithmetic with every rounding mode: single IEEE operations, then the hardware's NaN, flushing and
// saturation.
#include "kernel/emulate/lanes/number.h"

namespace kw::KW_LANES {
namespace {

// Fused multiply-add without the instruction: the product of floats is exact in double, the sum rounded to odd, so the
// second rounding is the only one that counts.
float fused(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(sum_to_odd(static_cast<double>(a) * b, static_cast<double>(c)));
#endif
}
double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// f64 results keep the payload of a NaN operand, made quiet: of b before c before a, as measured on an H200.
inline double quiet(double x) { return bits_as<double>(bits_as<u64>(x) | 0x0008000000000000u); }
inline double nan_operand(double a) { return a; }
inline double nan_operand(double a, double b) { return b != b ? b : a; }
inline double nan_operand(double a, double b, double c) { return b != b ? b : c != c ? c : a; }
template <class... V>
double with_nan_of(double result, V... operands) {
  const double operand = nan_operand(operands...);
  const double nan = operand != operand ? quiet(operand) : bits_as<double>(nan64);
  return result != result ? nan : result;
}

// A result is subnormal if it is with an unlimited exponent: what rounds up to the smallest normal number only for want
// of subnormal bits is flushed as well. Op::scaled gives the result times 2^32, out of reach of that; sums have no such
// case, being exact there.
template <class Op, class... V>
float flushed_result(V... values) {
  const float result = Op{}(values...);
  if constexpr (requires { Op::scaled(values...); }) {
    // Scaling may overflow, but not where the result is that small.
    const bool tiny = absolute(result) <= 0x1p-126f && absolute(Op::scaled(values...)) < 0x1p-94f;
    return tiny ? bits_as<float>(bits_as<u32>(result) & 0x80000000u) : result;
  } else {
    return flushed(result);
  }
}

struct Quotient {
  auto operator()(auto a, auto b) const { return a / b; }
  static float scaled(float a, float b) { return a * 0x1p32f / b; }
};

template <bool ftz, bool sat, class Op>
struct Finished {
  template <class... V>
  float operator()(float first, V... rest) const {
    if constexpr (ftz) {
      const float result = canonical(flushed_result<Op>(flushed(first), flushed(rest)...));
      return sat ? saturated(result) : result;
    } else {
      const float result = canonical(Op{}(first, rest...));
      return sat ? saturated(result) : result;
    }
  }
  template <class... V>
  double operator()(double first, V... rest) const {
    if constexpr (std::is_same_v<Op, Quotient>) {
      return with_nan_of(Op{}(first, rest...), rest...,
                         first);  // division is a routine, and looks at its dividend first
    } else {
      return with_nan_of(Op{}(first, rest...), first, rest...);
    }
  }
};

// What Op is in the directed modes, where that is not Op itself in another MXCSR mode.
struct Fused {
  auto operator()(auto a, auto b, auto c) const { return fused(a, b, c); }
  static float scaled(float a, float b, float c) { return fused(a * 0x1p32f, b, c * 0x1p32f); }
};
template <Rounding mode>
struct FusedDirected {
  float operator()(float a, float b, float c) const {
    const double product = static_cast<double>(a) * b;
    // An exact zero from opposite signs is negative when rounding down.
    const double sum = sum_to_odd(product, static_cast<double>(c));
    const bool cancelled = product == -static_cast<double>(c) && sum == 0 &&
                           (product != 0 || bits_as<u64>(product) >> 63 != bits_as<u32>(c) >> 31);
    return mode == Rounding::down && cancelled ? -0.0f : narrowed<mode>(sum);
  }
  static float scaled(float a, float b, float c) { return FusedDirected{}(a * 0x1p32f, b, c * 0x1p32f); }
};
struct Product {
  auto operator()(auto a, auto b) const { return a * b; }
  static float scaled(float a, float b) { return a * 0x1p32f * b; }
};
struct Reciprocal {
  auto operator()(auto a) const { return decltype(a){1} / a; }
  static float scaled(float a) { return 0x1p32f / a; }
};

template <class T, class Op, bool ftz, bool sat, Rounding mode, class... S>
LaneOperation operation() {
  if constexpr (mode == Rounding::nearest) {
    return &map<T, Finished<ftz, sat, Op>, S...>;
  }
#if !defined(__FMA__)
  else if constexpr (sizeof(typename T::Value) == 4 && std::is_same_v<Op, Fused>) {
    return &map<T, Finished<ftz, sat, FusedDirected<mode>>, S...>;
  }
#endif
  else {
    return &in_rounding_mode<&map<T, Finished<ftz, sat, Op>, S...>, mode>;
  }
}

template <class T, class Op, bool ftz, bool sat, class... S>
void add_roundings(const LaneTable& table, const char* names, bool nearest_is_default) {
  const Text rest(ftz ? ".ftz" : "", sat ? ".sat." : ".", type_name<T>);
  const LaneSignature signature{T::type, {S::type...}};
  auto add = [&](const char* rounding, LaneOperation run) {
    table.add(table.context, Text(names, rounding, rest.text).text, run, signature);
  };
  add(nearest_is_default ? "[.rn]" : ".rn", operation<T, Op, ftz, sat, Rounding::nearest, S...>());
  add(".rz", operation<T, Op, ftz, sat, Rounding::zero, S...>());
  add(".rm", operation<T, Op, ftz, sat, Rounding::down, S...>());
  add(".rp", operation<T, Op, ftz, sat, Rounding::up, S...>());
}

template <class... S, class Op>
void add_single(const LaneTable& table, const char* names, bool nearest_is_default, bool saturates, Op) {
  add_roundings<F32, Op, false, false, S...>(table, names, nearest_is_default);
  add_roundings<F32, Op, true, false, S...>(table, names, nearest_is_default);
  if (!saturates) return;
  add_roundings<F32, Op, false, true, S...>(table, names, nearest_is_default);
  add_roundings<F32, Op, true, true, S...>(table, names, nearest_is_default);
}
template <class... S, class Op>
void add_double(const LaneTable& table, const char* names, bool nearest_is_default, Op) {
  add_roundings<F64, Op, false, false, S...>(table, names, nearest_is_default);
}
template <class... S, class Op>
void add_pair(const LaneTable& table, const char* names, bool nearest_is_default, Op) {
  add_roundings<F32x2, Op, false, false, S...>(table, names, nearest_is_default);
  add_roundings<F32x2, Op, true, false, S...>(table, names, nearest_is_default);
}

// min and max order -0 below +0; a NaN loses against a number unless .NaN asks for it.
template <bool maximum>
bool first_wins(float a, float b) {
  auto key = [](float x) {
    const i32 bits = bits_as<i32>(x);
    return bits ^ static_cast<i32>(static_cast<u32>(bits >> 31) >> 1);
  };
  return maximum ? key(a) > key(b) : key(a) < key(b);
}
template <bool maximum>
bool first_wins(double a, double b) {
  auto key = [](double x) {
    const i64 bits = bits_as<i64>(x);
    return bits ^ static_cast<i64>(static_cast<u64>(bits < 0 ? -1 : 0) >> 1);
  };
  return maximum ? key(a) > key(b) : key(a) < key(b);
}

template <bool maximum, bool ftz, bool nan_wins, bool xorsign>
struct Extreme {
  float operator()(float a, float b) const {
    const u32 sign = (bits_as<u32>(a) ^ bits_as<u32>(b)) & 0x80000000u;
    if (ftz) a = flushed(a), b = flushed(b);
    if (xorsign) a = absolute(a), b = absolute(b);
    float result = is_nan(a) ? b : is_nan(b) ? a : first_wins<maximum>(a, b) ? a : b;
    if (nan_wins) result = is_nan(a) || is_nan(b) ? bits_as<float>(nan32) : result;
    if (xorsign) result = is_nan(result) ? result : bits_as<float>(bits_as<u32>(result) | sign);
    return canonical(result);
  }
  float operator()(float a, float b, float c) const { return (*this)((*this)(a, b), c); }
  double operator()(double a, double b) const {
    const double number = a != a ? b : b != b ? a : first_wins<maximum>(a, b) ? a : b;
    return number != number ? quiet(b) : number;
  }
};

template <bool maximum, bool ftz, bool nan_wins, bool xorsign>
void add_extreme(const LaneTable& table) {
  const Text rest(ftz ? ".ftz" : "", nan_wins ? ".NaN" : "", xorsign ? ".xorsign.abs" : "", ".f32");
  using Op = Extreme<maximum, ftz, nan_wins, xorsign>;
  add_row<F32, F32, F32>(table, Text(maximum ? "max" : "min", rest.text).text, Op{});
  if constexpr (!xorsign) add_row<F32, F32, F32, F32>(table, Text(maximum ? "max3" : "min3", rest.text).text, Op{});
}
template <bool maximum>
void add_extremes(const LaneTable& table) {
  add_extreme<maximum, false, false, false>(table);
  add_extreme<maximum, true, false, false>(table);
  add_extreme<maximum, false, true, false>(table);
  add_extreme<maximum, true, true, false>(table);
  add_extreme<maximum, false, false, true>(table);
  add_extreme<maximum, true, false, true>(table);
  add_extreme<maximum, false, true, true>(table);
  add_extreme<maximum, true, true, true>(table);
  add_row<F64, F64, F64>(table, maximum ? "max.f64" : "min.f64", Extreme<maximum, false, false, false>{});
}

struct SquareRoot {
  float operator()(float a) const { return __builtin_sqrtf(a); }
  double operator()(double a) const { return __builtin_sqrt(a); }
};

}  // namespace

void add_float_rows(const LaneTable& table) {
  auto add = [](auto a, auto b) { return a + b; };
  auto sub = [](auto a, auto b) { return a - b; };
  const Product mul;
  const Quotient div;
  const Reciprocal rcp;
  add_single<F32, F32>(table, "add", true, true, add);
  add_single<F32, F32>(table, "sub", true, true, sub);
  add_single<F32, F32>(table, "mul", true, true, mul);
  add_single<F32, F32, F32>(table, "{fma|mad}", false, true, Fused{});
  add_single<F32, F32>(table, "div", false, false, div);
  add_single<F32>(table, "rcp", false, false, rcp);
  add_single<F32>(table, "sqrt", false, false, SquareRoot{});
  add_double<F64, F64>(table, "add", true, add);
  add_double<F64, F64>(table, "sub", true, sub);
  add_double<F64, F64>(table, "mul", true, mul);
  add_double<F64, F64, F64>(table, "{fma|mad}", false, Fused{});
  add_double<F64, F64>(table, "div", false, div);
  add_double<F64>(table, "rcp", false, rcp);
  add_double<F64>(table, "sqrt", false, SquareRoot{});
  add_pair<F32x2, F32x2>(table, "add", true, add);
  add_pair<F32x2, F32x2>(table, "sub", true, sub);
  add_pair<F32x2, F32x2>(table, "mul", true, mul);
  add_pair<F32x2, F32x2, F32x2>(table, "fma", false, Fused{});

  add_extremes<false>(table);
  add_extremes<true>(table);
  auto negated = [](float a) { return bits_as<float>(bits_as<u32>(a) ^ 0x80000000u); };
  add_row<F32, F32>(table, "abs.f32", Finished<false, false, decltype([](float a) { return absolute(a); })>{});
  add_row<F32, F32>(table, "abs.ftz.f32", Finished<true, false, decltype([](float a) { return absolute(a); })>{});
  add_row<F32, F32>(table, "neg.f32", Finished<false, false, decltype(negated)>{});
  add_row<F32, F32>(table, "neg.ftz.f32", Finished<true, false, decltype(negated)>{});
  add_row<F64, F64>(table, "abs.f64", [](double a) { return is_nan(a) ? quiet(a) : absolute(a); });
  add_row<F64, F64>(table, "neg.f64", [](double a) {
    return is_nan(a) ? quiet(a) : bits_as<double>(bits_as<u64>(a) ^ 0x8000000000000000u);
  });
  // The sign of the first, the magnitude of the second.
  add_row<F32, F32, F32>(table, "copysign.f32", [](float a, float b) {
    return bits_as<float>((bits_as<u32>(a) & 0x80000000u) | (bits_as<u32>(b) & 0x7fffffffu));
  });
  add_row<F64, F64, F64>(table, "copysign.f64", [](double a, double b) {
    return bits_as<double>((bits_as<u64>(a) & 0x8000000000000000u) | (bits_as<u64>(b) & 0x7fffffffffffffffu));
  });
}

}  // namespace kw::KW_LANES
