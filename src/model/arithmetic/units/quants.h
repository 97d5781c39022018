#pragma once
// Reading the quants and scales of a packed weight: see packed_layout.h.

#include "model/arithmetic/packed_layout.h"
#include "model/arithmetic/units/lanes.h"

namespace kw::KW_UNIT {

using Bytes = const std::uint8_t*;

// Eight elements of sixteen outputs: 4 bits each, the first in the lowest. each(i, floats): bits 0 are `first_value`.
#if defined(__AVX512F__)
inline __m512 nibble_values(float first) {
  return _mm512_add_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_ps(first));
}

template <class Each>
inline void each_nibble(Bytes words, float first_value, const Each& each) {
  const __m512 table = nibble_values(first_value);
  const __m512i eight = _mm512_loadu_si512(words);
  // A permutation looks at the lowest four bits of each index only.
  each(0, Floats{_mm512_permutexvar_ps(eight, table)});
  each(1, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 4), table)});
  each(2, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 8), table)});
  each(3, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 12), table)});
  each(4, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 16), table)});
  each(5, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 20), table)});
  each(6, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 24), table)});
  each(7, Floats{_mm512_permutexvar_ps(_mm512_srli_epi32(eight, 28), table)});
}
#else
template <class Each>
inline void each_nibble(Bytes words, float first_value, const Each& each) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + 32));
  const __m256i mask = _mm256_set1_epi32(15), first = _mm256_set1_epi32(static_cast<int>(first_value));
  const auto value = [&](__m256i eight, int i) {
    const __m256i nibble = _mm256_and_si256(_mm256_srl_epi32(eight, _mm_cvtsi32_si128(4 * i)), mask);
    return _mm256_cvtepi32_ps(_mm256_add_epi32(nibble, first));
  };
  for (int i = 0; i < 8; ++i) each(i, Floats{value(low, i), value(high, i)});
}
#endif

template <int bytes>
inline Floats scales_at(Bytes from) {
  if constexpr (bytes == 2) return of_halves(from);
  return load(reinterpret_cast<const float*>(from));
}

// The processor's own prefetching stops at pages and starts late, so units are asked for some time before their turn.
inline void prefetch_unit(Bytes unit, std::int64_t bytes) {
  for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(unit + line);
}

}  // namespace kw::KW_UNIT
