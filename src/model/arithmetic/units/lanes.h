#pragma once
// Sixteen floats of a vector unit: one register of AVX-512, two of AVX2. All the kernels of this folder are written
// with them once and compiled for each unit, in a namespace of its own (KW_UNIT).

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "model/arithmetic/elementary.h"

namespace kw::KW_UNIT {

inline constexpr int lanes = 16;

#if defined(__AVX512F__)

struct Floats {
  __m512 v;
};
struct Ints {
  __m512i v;
};

inline Floats zero() { return {_mm512_setzero_ps()}; }
inline Floats all(float x) { return {_mm512_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Floats a) { _mm512_storeu_ps(p, a.v); }
inline __mmask16 first_lanes(std::int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
// The first `count` of sixteen, count < 16; the others are 0 or stay as they are.
inline Floats load_some(const float* p, std::int64_t count) { return {_mm512_maskz_loadu_ps(first_lanes(count), p)}; }
inline void store_some(float* p, Floats a, std::int64_t count) { _mm512_mask_storeu_ps(p, first_lanes(count), a.v); }
// The lanes from `count` on become `other`.
inline Floats keep_some(Floats a, std::int64_t count, float other) {
  return {_mm512_mask_blend_ps(first_lanes(count), _mm512_set1_ps(other), a.v)};
}
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }  // a > b ? a : b
inline Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Floats root(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats minus(Floats a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0f))}; }
inline Ints bits(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Floats of_bits(Ints a) { return {_mm512_castsi512_ps(a.v)}; }
inline Ints all_ints(std::int32_t x) { return {_mm512_set1_epi32(x)}; }
inline Ints operator+(Ints a, Ints b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Ints half_of(Ints a) { return {_mm512_srai_epi32(a.v, 1)}; }
inline Ints to_exponent(Ints a) { return {_mm512_slli_epi32(a.v, 23)}; }

// The tree of the portable path: lanes i and i + 8, then 4, 2, 1 apart.
inline __m256 halves_added(Floats a) {
  return _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
}
inline __m256 halves_compared(Floats a) {
  return _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
}

inline Floats of_halves(const void* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))}; }
inline Floats of_bf16(const void* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline Floats of_int8(const void* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))))};
}

#else

struct Floats {
  __m256 v, w;
};
struct Ints {
  __m256i v, w;
};

inline Floats zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Floats all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Floats load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, Floats a) {
  _mm256_storeu_ps(p, a.v);
  _mm256_storeu_ps(p + 8, a.w);
}
inline Floats load_some(const float* p, std::int64_t count) {
  alignas(32) float all_lanes[16] = {};
  std::memcpy(all_lanes, p, sizeof(float) * static_cast<std::size_t>(count));
  return load(all_lanes);
}
inline void store_some(float* p, Floats a, std::int64_t count) {
  alignas(32) float all_lanes[16];
  store(all_lanes, a);
  std::memcpy(p, all_lanes, sizeof(float) * static_cast<std::size_t>(count));
}
inline Floats keep_some(Floats a, std::int64_t count, float other) {
  alignas(32) float all_lanes[16];
  store(all_lanes, a);
  for (std::int64_t i = count; i < 16; ++i) all_lanes[i] = other;
  return load(all_lanes);
}
inline Floats fma(Floats a, Floats b, Floats c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v), _mm256_fmadd_ps(a.w, b.w, c.w)};
}
inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v), _mm256_add_ps(a.w, b.w)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v), _mm256_sub_ps(a.w, b.w)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v), _mm256_mul_ps(a.w, b.w)}; }
inline Floats operator/(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v), _mm256_div_ps(a.w, b.w)}; }
inline Floats max(Floats a, Floats b) { return {_mm256_max_ps(a.v, b.v), _mm256_max_ps(a.w, b.w)}; }
inline Floats min(Floats a, Floats b) { return {_mm256_min_ps(a.v, b.v), _mm256_min_ps(a.w, b.w)}; }
inline Floats root(Floats a) { return {_mm256_sqrt_ps(a.v), _mm256_sqrt_ps(a.w)}; }
inline Floats minus(Floats a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(a.v, sign), _mm256_xor_ps(a.w, sign)};
}
inline Ints bits(Floats a) { return {_mm256_castps_si256(a.v), _mm256_castps_si256(a.w)}; }
inline Floats of_bits(Ints a) { return {_mm256_castsi256_ps(a.v), _mm256_castsi256_ps(a.w)}; }
inline Ints all_ints(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline Ints operator+(Ints a, Ints b) { return {_mm256_add_epi32(a.v, b.v), _mm256_add_epi32(a.w, b.w)}; }
inline Ints operator-(Ints a, Ints b) { return {_mm256_sub_epi32(a.v, b.v), _mm256_sub_epi32(a.w, b.w)}; }
inline Ints half_of(Ints a) { return {_mm256_srai_epi32(a.v, 1), _mm256_srai_epi32(a.w, 1)}; }
inline Ints to_exponent(Ints a) { return {_mm256_slli_epi32(a.v, 23), _mm256_slli_epi32(a.w, 23)}; }

inline __m256 halves_added(Floats a) { return _mm256_add_ps(a.v, a.w); }
inline __m256 halves_compared(Floats a) { return _mm256_max_ps(a.v, a.w); }

inline Floats of_halves(const void* p) {
  const auto* words = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(words)), _mm256_cvtph_ps(_mm_loadu_si128(words + 1))};
}
inline Floats of_bf16(const void* p) {
  const auto* words = static_cast<const __m128i*>(p);
  const auto wide = [](__m128i eight) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16));
  };
  return {wide(_mm_loadu_si128(words)), wide(_mm_loadu_si128(words + 1))};
}
inline Floats of_int8(const void* p) {
  const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}

#endif

inline float sum(Floats a) {
  const __m256 eight = halves_added(a);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float largest(Floats a) {
  const __m256 eight = halves_compared(a);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// elementary::exp_of, operation by operation.
inline Floats exp(Floats x) {
  namespace e = elementary;
  x = max(all(e::exp_low), x);
  x = min(all(e::exp_high), x);
  const Floats shifted = fma(x, all(e::log2_e), all(e::round_magic));
  const Floats n = shifted - all(e::round_magic);
  Floats r = fma(n, all(-e::ln2_high), x);
  r = fma(n, all(-e::ln2_low), r);
  Floats p = fma(all(e::exp_c4), r, all(e::exp_c3));
  p = fma(p, r, all(e::exp_c2));
  p = fma(p, r, all(e::exp_c1));
  p = fma(p, r, all(e::exp_c0));
  p = fma(p, r * r, r) + all(1.0f);
  const Ints whole = bits(shifted) - all_ints(std::bit_cast<std::int32_t>(e::round_magic));
  const Ints half = half_of(whole);
  const auto power = [](Ints exponent) { return of_bits(to_exponent(exponent + all_ints(127))); };
  return p * power(half) * power(whole - half);
}

// body(i, count) for i = 0, 16, ...: sixteen elements each, fewer in the last. get() and put() move them.
template <class Body>
inline void each_sixteen(std::int64_t size, const Body& body) {
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) body(i, std::int64_t{lanes});
  if (i < size) body(i, size - i);
}
inline Floats get(const float* p, std::int64_t count) { return count == lanes ? load(p) : load_some(p, count); }
inline void put(float* p, Floats a, std::int64_t count) { count == lanes ? store(p, a) : store_some(p, a, count); }

}  // namespace kw::KW_UNIT
