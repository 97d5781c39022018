#pragma once
// exp and log, the same operations on every vector unit. Both within 1.5 units in the last place.

#include <bit>
#include <cmath>
#include <cstdint>

namespace kw::elementary {

inline constexpr float round_magic = 0x1.8p23f;  // adding it leaves a whole number in the low bits
inline constexpr float log2_e = 0x1.715476p0f;
inline constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;  // their sum is ln 2
inline constexpr float exp_low = -104.0f, exp_high = 89.0f;                 // beyond: 0 and infinity
// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2, interpolated at Chebyshev's points
inline constexpr float exp_c0 = 0.5f, exp_c1 = 0x1.5554dcp-3f, exp_c2 = 0x1.55551ap-5f, exp_c3 = 0x1.120b6cp-7f,
                       exp_c4 = 0x1.6d1106p-10f;

inline float exp_of(float x) {
  x = exp_low > x ? exp_low : x;
  x = exp_high < x ? exp_high : x;
  const float shifted = std::fma(x, log2_e, round_magic);
  const float n = shifted - round_magic;
  float r = std::fma(n, -ln2_high, x);
  r = std::fma(n, -ln2_low, r);
  float p = std::fma(exp_c4, r, exp_c3);
  p = std::fma(p, r, exp_c2);
  p = std::fma(p, r, exp_c1);
  p = std::fma(p, r, exp_c0);
  p = std::fma(p, r * r, r) + 1.0f;
  // 2^n in two factors: the first is exact, the second rounds once, also to a subnormal or to infinity.
  const auto whole = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_magic);
  const std::int32_t half = whole >> 1;
  const auto power = [](std::int32_t e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23); };
  return p * power(half) * power(whole - half);
}

// Once for each row, so in double: log m = 2 atanh((m - 1) / (m + 1)), m in [sqrt 1/2, sqrt 2). For positive x.
inline float log_of(float x) {
  if (!(x > 0) || x > 3.4028235e38f) return x == 0 ? -HUGE_VALF : x > 0 ? x : std::bit_cast<float>(0x7fc00000u);
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(x));
  const double m_whole = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const bool upper = m_whole > 1.41421356237309504880;
  const double m = upper ? m_whole * 0.5 : m_whole;
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - (upper ? 1022 : 1023));
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  double sum = 1.0 / 13;
  sum = sum * square + 1.0 / 11;
  sum = sum * square + 1.0 / 9;
  sum = sum * square + 1.0 / 7;
  sum = sum * square + 1.0 / 5;
  sum = sum * square + 1.0 / 3;
  sum = sum * square + 1.0;
  return static_cast<float>(exponent * 0.693147180559945309417 + 2.0 * s * sum);
}

}  // namespace kw::elementary
