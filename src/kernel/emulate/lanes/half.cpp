// f16 and bf16 arithmetic, single and packed. Everything is computed in float and rounded once more: harmless for add,
// sub and mul, because float has at least 2p + 2 bits (Figueroa, "When is double rounding innocuous?", 1995) and
// products are exact; fma rounds to odd first.
#include "kernel/emulate/lanes/number.h"

namespace kw::KW_LANES {
namespace {

template <class T>
inline constexpr bool brain = T::format.exponent_bits == 8;

// A product of two f16 is exact in float. One of two bf16 can leave float's range, so the sum is made in double.
template <class T>
float fused(float a, float b, float c) {
  if constexpr (brain<T>) {
    return narrowed_to_odd(sum_to_odd(static_cast<double>(a) * b, static_cast<double>(c)));
  } else {
    return sum_to_odd(a * b, c);
  }
}

// A result is subnormal if it is with an unlimited exponent: what rounds up to the smallest normal number only because
// there are no more subnormal bits is flushed as well. The least that is not: 1 - 2^-12 of it, a tie that goes to even.
template <class T>
float flushed_result(float x) {
  constexpr float limit = T::smallest_normal * (1.0f - 0.25f / (1 << T::format.mantissa_bits));
  return absolute(x) < limit ? bits_as<float>(bits_as<u32>(x) & 0x80000000u) : x;
}

template <class T, bool ftz, bool sat, bool rectified, class Op>
struct Finished {
  template <class... V>
  float operator()(V... values) const {
    float result = ftz ? Op{}(flushed_as<T>(values)...) : Op{}(values...);
    if (ftz) result = flushed_result<T>(result);
    if (sat) result = saturated(result);
    if (rectified) result = relu(result);
    return result;
  }
};

template <class T, bool ftz, bool sat, bool rectified, class... S, class Op>
void add_variant(const LaneTable& table, const char* names, Op) {
  const Text form(names, ftz ? ".ftz" : "", sat ? ".sat" : "", rectified ? ".relu" : "", ".", type_name<T>);
  add_row<T, S...>(table, form.text, Finished<T, ftz, sat, rectified, Op>{});
}
template <class T, class... S, class Op>
void add_variants(const LaneTable& table, const char* names, Op op) {
  add_variant<T, false, false, false, S...>(table, names, op);
  if constexpr (!brain<T>) {
    add_variant<T, true, false, false, S...>(table, names, op);
    add_variant<T, false, true, false, S...>(table, names, op);
    add_variant<T, true, true, false, S...>(table, names, op);
  }
}

template <class T, bool maximum, bool ftz, bool nan_wins, bool xorsign>
struct Extreme {
  float operator()(float a, float b) const {
    if (ftz) a = flushed_as<T>(a), b = flushed_as<T>(b);
    const u32 sign = (bits_as<u32>(a) ^ bits_as<u32>(b)) & 0x80000000u;
    if (xorsign) a = absolute(a), b = absolute(b);
    auto key = [](float x) { return bits_as<i32>(x) ^ static_cast<i32>(static_cast<u32>(bits_as<i32>(x) >> 31) >> 1); };
    const bool first = maximum ? key(a) > key(b) : key(a) < key(b);
    float result = is_nan(a) ? b : is_nan(b) ? a : first ? a : b;
    if (nan_wins) result = is_nan(a) || is_nan(b) ? bits_as<float>(nan32) : result;
    return xorsign ? bits_as<float>(bits_as<u32>(result) | sign) : result;
  }
  float operator()(float a, float b, float c) const { return (*this)((*this)(a, b), c); }
};
template <class T, bool maximum, bool ftz, bool nan_wins, bool xorsign>
void add_extreme(const LaneTable& table) {
  const Text rest(ftz ? ".ftz" : "", nan_wins ? ".NaN" : "", xorsign ? ".xorsign.abs." : ".", type_name<T>);
  using Op = Extreme<T, maximum, ftz, nan_wins, xorsign>;
  add_row<T, T, T>(table, Text(maximum ? "max" : "min", rest.text).text, Op{});
  if constexpr (!xorsign) add_row<T, T, T, T>(table, Text(maximum ? "max3" : "min3", rest.text).text, Op{});
}
template <class T, bool maximum, bool ftz>
void add_extremes(const LaneTable& table) {
  add_extreme<T, maximum, ftz, false, false>(table);
  add_extreme<T, maximum, ftz, true, false>(table);
  add_extreme<T, maximum, ftz, false, true>(table);
  add_extreme<T, maximum, ftz, true, true>(table);
}

// The sign is one bit; NaN becomes the canonical one.
template <class T, class Bits>
void add_signs(const LaneTable& table) {
  using Slot = typename Bits::Value;
  auto row = [&](const char* op, const char* ftz, auto function) {
    using Op = decltype(function);
    table.add(table.context, Text(op, ftz, ".", type_name<T>).text, &map<Bits, Op, Bits>,
              LaneSignature{T::type, {T::type}});
  };
  row("abs", "", [](Slot a) { return (a & 0x7fffu) > T::format.infinity ? nan16 : static_cast<Slot>(a & 0x7fffu); });
  row("neg", "", [](Slot a) { return (a & 0x7fffu) > T::format.infinity ? nan16 : static_cast<Slot>(a ^ 0x8000u); });
  if constexpr (!brain<T>) {
    row("abs", ".ftz", [](Slot a) {
      return (a & 0x7fffu) > 0x7c00u ? nan16 : static_cast<Slot>((a & 0x7c00u) == 0 ? 0 : a & 0x7fffu);
    });
    row("neg", ".ftz", [](Slot a) {
      return (a & 0x7fffu) > 0x7c00u ? nan16 : static_cast<Slot>(((a & 0x7c00u) == 0 ? a & 0x8000u : a) ^ 0x8000u);
    });
  }
}

template <class T, class Bits>
void add_type(const LaneTable& table) {
  add_variants<T, T, T>(table, "add[.rn]", [](float a, float b) { return a + b; });
  add_variants<T, T, T>(table, "sub[.rn]", [](float a, float b) { return a - b; });
  add_variants<T, T, T>(table, "mul[.rn]", [](float a, float b) { return a * b; });
  auto fma = [](float a, float b, float c) { return fused<T>(a, b, c); };
  add_variants<T, T, T, T>(table, "fma.rn", fma);
  add_variant<T, false, false, true, T, T, T>(table, "fma.rn", fma);
  if constexpr (!brain<T>) add_variant<T, true, false, true, T, T, T>(table, "fma.rn", fma);
  add_extremes<T, false, false>(table);
  add_extremes<T, true, false>(table);
  if constexpr (!brain<T>) {
    add_extremes<T, false, true>(table);
    add_extremes<T, true, true>(table);
  }
  add_signs<T, Bits>(table);
}

}  // namespace

void add_half_rows(const LaneTable& table) {
  add_type<F16, U16>(table);
  add_type<F16x2, U16x2>(table);
  add_type<BF16, U16>(table);
  add_type<BF16x2, U16x2>(table);
}

}  // namespace kw::KW_LANES
