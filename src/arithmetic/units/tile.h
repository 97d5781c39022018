#pragma once
// The innermost loop of every product: a tile of C stays in registers while A and B run past.

#include "arithmetic/units/lanes.h"

namespace kw::KW_UNIT {

// Rows and vectors of sixteen columns of the largest tile that the registers hold.
#if defined(__AVX512F__)
inline constexpr int tile_rows = 6, tile_vectors = 4;
#else
inline constexpr int tile_rows = 6, tile_vectors = 1;
#endif

template <int rows, int vectors>
struct Tile {
  Floats sum[rows][vectors];
};

template <int rows, int vectors>
inline __attribute__((always_inline)) void multiply(Tile<rows, vectors>& tile, const float* a, std::int64_t a_row,
                                                    std::int64_t a_depth, const float* b, std::int64_t b_depth,
                                                    std::int64_t depth) {
  for (std::int64_t k = 0; k < depth; ++k, a += a_depth, b += b_depth) {
    Floats columns[vectors];
    for (int v = 0; v < vectors; ++v) columns[v] = load(b + lanes * v);
    for (int r = 0; r < rows; ++r) {
      const Floats x = all(a[r * a_row]);
      for (int v = 0; v < vectors; ++v) tile.sum[r][v] = fma(x, columns[v], tile.sum[r][v]);
    }
  }
}

}  // namespace kw::KW_UNIT
