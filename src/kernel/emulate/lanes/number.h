#pragma once
// Floating-point formats: NaN as NVIDIA hardware makes it, subnormals flushed on demand, narrowing with any rounding.

#include "kernel/emulate/lanes/unit.h"

namespace kw::KW_LANES {

inline constexpr u32 nan32 = 0x7fffffffu;
inline constexpr u16 nan16 = 0x7fffu;
inline constexpr u64 nan64 = 0xfff8000000000000u;

inline bool is_nan(float x) { return (bits_as<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan(double x) { return (bits_as<u64>(x) & 0x7fffffffffffffffu) > 0x7ff0000000000000u; }
inline float canonical(float x) { return bits_as<float>(is_nan(x) ? nan32 : bits_as<u32>(x)); }

// Subnormals become a zero of their sign.
inline float flushed(float x) {
  const u32 bits = bits_as<u32>(x);
  return bits_as<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

// For f16 and bf16 held in a float.
template <class T>
float flushed_as(float x) {
  const u32 bits = bits_as<u32>(x);
  return bits_as<float>((bits & 0x7fffffffu) < bits_as<u32>(T::smallest_normal) ? bits & 0x80000000u : bits);
}

inline float absolute(float x) { return bits_as<float>(bits_as<u32>(x) & 0x7fffffffu); }
inline double absolute(double x) { return bits_as<double>(bits_as<u64>(x) & 0x7fffffffffffffffu); }

// .sat: into [0, 1], NaN to +0.
template <class V>
V saturated(V x) {
  return x > V{0} ? (x < V{1} ? x : V{1}) : V{0};
}
// .relu: negative numbers to +0, NaN stays.
inline float relu(float x) { return x > 0.0f || is_nan(x) ? x : 0.0f; }

// Magnitudes of floats are ordered like their bits, so a step in the bits is a step to the neighbour.
inline float next_towards_zero(float x) { return bits_as<float>(bits_as<u32>(x) - 1); }

template <Rounding mode>
float narrowed(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  if constexpr (mode == Rounding::zero) {
    return absolute(back) > absolute(x) ? next_towards_zero(nearest) : nearest;
  } else if constexpr (mode == Rounding::down || mode == Rounding::up) {
    const bool wrong_side = mode == Rounding::down ? back > x : back < x;
    const bool grows = (bits_as<u64>(x) >> 63 != 0) == (mode == Rounding::down);
    const u32 bits = bits_as<u32>(nearest);
    return bits_as<float>(wrong_side ? (grows ? bits + 1 : bits - 1) : bits);
  } else {
    return nearest;
  }
}

// Rounds to odd: towards zero, and the last bit set if anything was lost. A second rounding to at least two bits less
// is then as if it were the only one (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd", 2008).
inline float narrowed_to_odd(double x) {
  const float towards_zero = narrowed<Rounding::zero>(x);
  const bool exact = static_cast<double>(towards_zero) == x || is_nan(x);
  return bits_as<float>(bits_as<u32>(towards_zero) | (exact ? 0u : 1u));
}

// a + b in double, rounded to odd: the error of the sum is exact (Knuth's TwoSum) and says which way it was rounded.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const u64 bits = bits_as<u64>(sum);
  const bool finite = (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
  const bool adjust = finite && error != 0 && (bits & 1) == 0;
  const bool shrink = (error > 0) != (sum > 0);
  return bits_as<double>(adjust ? (shrink ? bits - 1 : bits + 1) : bits);
}
inline float sum_to_odd(float a, float b) {
  const float sum = a + b;
  const float b_part = sum - a;
  const float error = (a - (sum - b_part)) + (b - b_part);
  const u32 bits = bits_as<u32>(sum);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  const bool adjust = finite && error != 0 && (bits & 1) == 0;
  const bool shrink = (error > 0) != (sum > 0);
  return bits_as<float>(adjust ? (shrink ? bits - 1 : bits + 1) : bits);
}

// A format with fewer bits than float. `infinity` 0: there is none (e4m3), overflow becomes NaN unless it saturates.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  u32 largest;  // finite
  u32 infinity;
  u32 nan;
};
inline constexpr SmallFormat format_f16{5, 10, 0x7bff, 0x7c00, nan16};
inline constexpr SmallFormat format_bf16{8, 7, 0x7f7f, 0x7f80, nan16};
inline constexpr SmallFormat format_tf32{8, 10, 0x3fbff, 0x3fc00, 0x3ffff};
inline constexpr SmallFormat format_e5m2{5, 2, 0x7b, 0x7c, 0x7f};
inline constexpr SmallFormat format_e4m3{4, 3, 0x7e, 0, 0x7f};

// Rounds a float into the format's bits. A float that was itself rounded to odd rounds as the number it came from.
template <SmallFormat format, Rounding mode, bool satfinite = false>
u32 encoded(float x) {
  constexpr int dropped = 23 - format.mantissa_bits;
  constexpr u32 bias_difference = 127 - ((1 << (format.exponent_bits - 1)) - 1);
  const u32 bits = bits_as<u32>(x), magnitude = bits & 0x7fffffffu;
  const u32 sign = bits >> 31;
  u32 kept = 0, lost = 0, half = u32{1} << (dropped - 1);
  if constexpr (bias_difference == 0) {
    kept = magnitude >> dropped;
    lost = magnitude & ((u32{1} << dropped) - 1);
  } else {
    // Below the format's normal numbers the mantissa moves right, one place for each missing power of two.
    const u32 exponent = magnitude >> 23;
    const bool normal = exponent > bias_difference;
    const u32 move = normal ? dropped : dropped + bias_difference + 1 - exponent;
    const u32 number =
        normal ? magnitude - (bias_difference << 23) : (magnitude & 0x7fffffu) | (exponent == 0 ? 0u : 0x800000u);
    const u32 amount = move > 25 ? 25 : move;  // by then everything is lost, less than half of the smallest number
    kept = number >> amount;
    lost = number & ((u32{1} << amount) - 1);
    half = u32{1} << (amount - 1);
  }
  bool increment = false;
  if constexpr (mode == Rounding::nearest) increment = lost > half || (lost == half && (kept & 1) != 0);
  if constexpr (mode == Rounding::away) increment = lost >= half;
  if constexpr (mode == Rounding::down) increment = lost != 0 && sign != 0;
  if constexpr (mode == Rounding::up) increment = lost != 0 && sign == 0;
  kept += increment ? 1 : 0;
  constexpr u32 overflow =
      satfinite || format.infinity == 0 ? (satfinite ? format.largest : format.nan) : format.infinity;
  const bool rounds_outwards =
      mode == Rounding::nearest || mode == Rounding::away || (mode == Rounding::down) == (sign != 0);
  const u32 beyond =
      magnitude == 0x7f800000u || (mode != Rounding::zero && rounds_outwards) ? overflow : format.largest;
  kept = kept > format.largest ? beyond : kept;
  constexpr int sign_position = format.exponent_bits + format.mantissa_bits;
  return magnitude > 0x7f800000u ? format.nan : kept | (sign << sign_position);
}

inline float half_value(u32 bits) {
  // The bits as a float with a too small exponent, times 2^112: exact, subnormals included.
  const u32 shifted = (bits & 0x7fffu) << 13;
  const u32 scaled = bits_as<u32>(bits_as<float>(shifted) * 0x1p112f);
  const u32 magnitude = (bits & 0x7c00u) == 0x7c00u ? shifted | 0x7f800000u : scaled;
  return bits_as<float>(magnitude | ((bits & 0x8000u) << 16));
}

// Rounding to a whole number: .rni, .rzi, .rmi, .rpi.
struct ToNearest {
  static constexpr const char* name = ".rni";
  float operator()(float x) const { return __builtin_rintf(x); }
  double operator()(double x) const { return __builtin_rint(x); }
};
struct ToZero {
  static constexpr const char* name = ".rzi";
  float operator()(float x) const { return __builtin_truncf(x); }
  double operator()(double x) const { return __builtin_trunc(x); }
};
struct Down {
  static constexpr const char* name = ".rmi";
  float operator()(float x) const { return __builtin_floorf(x); }
  double operator()(double x) const { return __builtin_floor(x); }
};
struct Up {
  static constexpr const char* name = ".rpi";
  float operator()(float x) const { return __builtin_ceilf(x); }
  double operator()(double x) const { return __builtin_ceil(x); }
};

template <class S, PtxType t, int n>
struct HalfLane {
  using Value = float;
  using Slot = S;
  static constexpr PtxType type = t;
  static constexpr int count = n;
  static constexpr SmallFormat format = format_f16;
  static constexpr float smallest_normal = 0x1p-14f;
  static float read(S slot) { return half_value(slot & 0xffffu); }
  static S write(float value) { return static_cast<S>(encoded<format_f16, Rounding::nearest>(value)); }
#if defined(__F16C__)
  static void load(const S* slots, float* values) {
    for (int i = 0; i < n; i += 8) _mm256_store_ps(values + i, _mm256_cvtph_ps(eight_halves(slots + i)));
  }
  static void store(const float* values, S* slots) {
    for (int i = 0; i < n; i += 8) {
      const __m256 raw = _mm256_load_ps(values + i);
      const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(nan32)));
      const __m256 value = _mm256_blendv_ps(raw, nan, _mm256_cmp_ps(raw, raw, _CMP_UNORD_Q));
      store_eight(slots + i, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
  }

 private:
  static __m128i eight_halves(const u16* slots) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(slots)); }
  static __m128i eight_halves(const u32* slots) {
    const __m256i low =
        _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(slots)), _mm256_set1_epi32(0xffff));
    return _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  }
  static void store_eight(u16* slots, __m128i halves) { _mm_storeu_si128(reinterpret_cast<__m128i*>(slots), halves); }
  static void store_eight(u32* slots, __m128i halves) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(slots), _mm256_cvtepu16_epi32(halves));
  }
#endif
};
template <class S, PtxType t, int n>
struct BrainLane {
  using Value = float;
  using Slot = S;
  static constexpr PtxType type = t;
  static constexpr int count = n;
  static constexpr SmallFormat format = format_bf16;
  static constexpr float smallest_normal = 0x1p-126f;
  static float read(S slot) { return bits_as<float>(static_cast<u32>(slot) << 16); }
  static S write(float value) { return static_cast<S>(encoded<format_bf16, Rounding::nearest>(value)); }
};
using F16 = HalfLane<u32, PtxType::f16, 32>;
using F16x2 = HalfLane<u16, PtxType::f16x2, 64>;
using BF16 = BrainLane<u32, PtxType::bf16, 32>;
using BF16x2 = BrainLane<u16, PtxType::bf16x2, 64>;
template <>
inline constexpr const char* type_name<F16> = "f16";
template <>
inline constexpr const char* type_name<F16x2> = "f16x2";
template <>
inline constexpr const char* type_name<BF16> = "bf16";
template <>
inline constexpr const char* type_name<BF16x2> = "bf16x2";

}  // namespace kw::KW_LANES
