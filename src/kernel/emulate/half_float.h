#pragma once
// binary16 and bfloat16 as bits, rounded to nearest even; for atomics and matrix fragments. (Arithmetic on lanes is in
// lanes/.)

#include <bit>
#include <cmath>
#include <cstdint>

namespace kw {

inline float float_from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t bfloat16_from_float(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

inline float float_from_half(std::uint16_t bits) {
  std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1f;
  std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  float value = std::ldexp(static_cast<float>(fraction), -24);
  return sign != 0 ? -value : value;
}

inline std::uint16_t half_from_float(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // from 65520 on
  if (magnitude < 0x38800000u) {                       // subnormal: units of 2^-24
    float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return sign | static_cast<std::uint16_t>(std::nearbyint(scaled));
  }
  std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return sign | static_cast<std::uint16_t>((rounded - 0x38000000u) >> 13);
}

}  // namespace kw
