#pragma once
// The innermost loop of every product: a tile of C stays in registers while A and B run past.

#include "model/arithmetic/units/lanes.h"

namespace kw::KW_UNIT {

// Rows and vectors of sixteen columns of the largest tile that the registers hold. With few rows there is room for more
// vectors, and need: chains of multiply-adds must be many to hide their latency.
#if defined(__AVX512F__)
inline constexpr int tile_rows = 6, tile_vectors = 4;
constexpr std::int64_t vectors_beside(std::int64_t) { return 4; }
#else
inline constexpr int tile_rows = 6, tile_vectors = 1;
constexpr std::int64_t vectors_beside(std::int64_t rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
#endif
inline constexpr int most_vectors = 4;

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

// The sums of a tile become C: plus the bias, plus what was there. `columns` of the tile's are C's.
template <int rows, int vectors>
inline void complete(const Tile<rows, vectors>& tile, float* c, std::int64_t c_row, std::int64_t columns,
                     const float* bias, bool add) {
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t count = columns - lanes * v < lanes ? columns - lanes * v : lanes;
      if (count <= 0) continue;
      Floats sum = tile.sum[r][v];
      float* to = c + r * c_row + lanes * v;
      if (bias != nullptr) sum = sum + get(bias + lanes * v, count);
      if (add) sum = get(to, count) + sum;
      put(to, sum, count);
    }
  }
}

// A tile of one block of the depth. Its sums come from `sums` unless the block is the first, and go there unless it is
// the last, which completes C.
struct TileCall {
  const float* a = nullptr;
  std::int64_t a_row = 0, a_depth = 0;  // one of them is 1
  const float* b = nullptr;
  std::int64_t b_depth = 0, depth = 0;
  float* sums = nullptr;
  std::int64_t sums_row = 0;
  float* c = nullptr;
  std::int64_t c_row = 0, columns = 0;
  const float* bias = nullptr;
  bool add = false, first = false, last = false;
};
void run_tile(std::int64_t rows, std::int64_t vectors, const TileCall& call);  // vectors <= vectors_beside(rows)

// C (rows, columns) = A * B, or the chains in C go on with it. columns is a multiple of 16.
struct ChainProduct {
  const float* a = nullptr;
  std::int64_t a_row = 0, a_depth = 0;  // one of them is 1
  const float* b = nullptr;
  std::int64_t b_depth = 0;
  float* c = nullptr;
  std::int64_t c_row = 0;
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool from_zero = false;
};
void chain_product(const ChainProduct& product);

}  // namespace kw::KW_UNIT
