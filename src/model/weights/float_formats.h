#pragma once
// Narrow floating-point formats as bits. Branch-free where loops run over them, so that the compiler vectorises.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kw {

template <class T>
T load_unaligned(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

// Exponent and fraction are moved to their place and scaled by 2^112, exact for subnormals too; then infinity and NaN.
inline float float_of_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  std::uint32_t result = std::bit_cast<std::uint32_t>(scaled);
  result = magnitude >= 0x7c00u ? 0x7f800000u | (magnitude << 13) : result;
  return std::bit_cast<float>(result | ((bits & 0x8000u) << 16));
}

inline std::uint16_t f16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // from 65520 on
  if (magnitude < 0x38800000u) {                        // subnormal: units of 2^-24
    return sign | static_cast<std::uint16_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return sign | static_cast<std::uint16_t>((rounded - 0x38000000u) >> 13);
}

// OCP 8-bit formats (arXiv 2209.05433): E4M3 has no infinities, 0x7f is NaN; E5M2 is binary16 cut to its upper byte.
inline float float_of_f8_e5m2(std::uint8_t bits) { return float_of_f16(static_cast<std::uint16_t>(bits << 8)); }

inline float float_of_f8_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x80u} << 24;
  const std::uint32_t magnitude = bits & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
}

}  // namespace kw
