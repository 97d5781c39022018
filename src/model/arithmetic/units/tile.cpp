#include "model/arithmetic/units/tile.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kw::KW_UNIT {
namespace {

template <int rows, int vectors>
void run(const TileCall& call) {
  Tile<rows, vectors> tile;
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      tile.sum[r][v] = call.first ? zero() : load(call.sums + r * call.sums_row + lanes * v);
    }
  }
  if (call.a_depth == 1) {
    multiply(tile, call.a, call.a_row, 1, call.b, call.b_depth, call.depth);
  } else {
    multiply(tile, call.a, 1, call.a_depth, call.b, call.b_depth, call.depth);
  }
  if (call.last) return complete(tile, call.c, call.c_row, call.columns, call.bias, call.add);
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) store(call.sums + r * call.sums_row + lanes * v, tile.sum[r][v]);
  }
}

using Run = void (*)(const TileCall&);
template <int rows, int vectors>
constexpr Run run_if_it_fits() {
  if constexpr (vectors <= vectors_beside(rows)) return run<rows, vectors>;
  return nullptr;
}
template <int... index>
constexpr auto table_of(std::integer_sequence<int, index...>) {
  return std::array<Run, sizeof...(index)>{run_if_it_fits<index / most_vectors + 1, index % most_vectors + 1>()...};
}
constexpr auto table = table_of(std::make_integer_sequence<int, tile_rows * most_vectors>{});

}  // namespace

void run_tile(std::int64_t rows, std::int64_t vectors, const TileCall& call) {
  table[(rows - 1) * most_vectors + vectors - 1](call);
}

void chain_product(const ChainProduct& p) {
  const std::int64_t row_tiles = (p.rows + tile_rows - 1) / tile_rows;
  for (std::int64_t i = 0; i < row_tiles; ++i) {
    const std::int64_t row = p.rows * i / row_tiles, rows = p.rows * (i + 1) / row_tiles - row;
    for (std::int64_t j = 0; j < p.columns;) {
      const std::int64_t vectors = std::min(vectors_beside(rows), (p.columns - j) / lanes);
      run_tile(rows, vectors,
               {.a = p.a + row * p.a_row,
                .a_row = p.a_row,
                .a_depth = p.a_depth,
                .b = p.b + j,
                .b_depth = p.b_depth,
                .depth = p.depth,
                .sums = p.c + row * p.c_row + j,
                .sums_row = p.c_row,
                .first = p.from_zero});
      j += vectors * lanes;
    }
  }
}

}  // namespace kw::KW_UNIT
