#include <algorithm>
#include <array>
#include <vector>

#include "arithmetic/packed_layout.h"
#include "arithmetic/units/columns.h"
#include "arithmetic/units/kernels_of_unit.h"
#include "arithmetic/units/tile.h"

namespace kw::KW_UNIT {
namespace {

constexpr std::int64_t depth_block = 96;  // whole units; 64 columns of it fit the first cache

// A tile of one block of the depth. Its sums come from `sums` unless the block is the first, and go there unless it is
// the last, which completes C.
struct TileCall {
  const float* a;
  std::int64_t a_row, a_depth;
  const float* b;
  std::int64_t b_depth, depth;
  float* sums;
  std::int64_t sums_row;
  float* c;
  std::int64_t c_row, columns;
  const float* bias;
  bool add, first, last;
};

template <int rows, int vectors>
void run_tile(const TileCall& call) {
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
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      Floats sum = tile.sum[r][v];
      if (!call.last) {
        store(call.sums + r * call.sums_row + lanes * v, sum);
        continue;
      }
      const std::int64_t count = std::min<std::int64_t>(lanes, call.columns - lanes * v);
      if (count <= 0) continue;
      float* c = call.c + r * call.c_row + lanes * v;
      if (call.bias != nullptr) sum = sum + get(call.bias + lanes * v, count);
      if (call.add) sum = get(c, count) + sum;
      put(c, sum, count);
    }
  }
}

using RunTile = void (*)(const TileCall&);
template <int... index>
constexpr auto tile_table(std::integer_sequence<int, index...>) {
  return std::array<RunTile, sizeof...(index)>{run_tile<index / tile_vectors + 1, index % tile_vectors + 1>...};
}
constexpr auto tiles = tile_table(std::make_integer_sequence<int, tile_rows * tile_vectors>{});

struct Scratch {
  std::vector<float> columns, sums;
  float* room(std::vector<float>& of, std::int64_t size) {
    if (static_cast<std::int64_t>(of.size()) < size + lanes) of.resize(size + lanes);
    const auto address = reinterpret_cast<std::uintptr_t>(of.data());
    return of.data() + (64 - address % 64) % 64 / sizeof(float);
  }
};

}  // namespace

void product(const ProductPart& part) {
  thread_local Scratch scratch;
  const std::int64_t width = lanes_up(part.columns);
  const bool lie_ready = part.b.kind == ProductColumns::Kind::packed && part.b.format == BlockFormat::f32;
  const std::int64_t row_tiles = (part.rows + tile_rows - 1) / tile_rows;
  // Floats that are read once need no blocks.
  const std::int64_t block = lie_ready && row_tiles == 1 ? part.depth : std::min(part.depth, depth_block);
  float* buffer = lie_ready ? nullptr : scratch.room(scratch.columns, block * width);
  float* sums = block < part.depth ? scratch.room(scratch.sums, part.rows * width) : nullptr;

  std::int64_t k = 0;
  do {
    const std::int64_t depth = std::min(block, part.depth - k);
    const ColumnBlock b = fetch_columns(part.b, part.depth, k, depth, part.first_column, width, buffer);
    for (std::int64_t i = 0; i < row_tiles; ++i) {
      const std::int64_t row = part.rows * i / row_tiles, rows = part.rows * (i + 1) / row_tiles - row;
      for (std::int64_t j = 0; j < width; j += lanes * tile_vectors) {
        const std::int64_t vectors = std::min<std::int64_t>(tile_vectors, (width - j) / lanes);
        tiles[(rows - 1) * tile_vectors + vectors - 1]({.a = part.a + row * part.a_row + k * part.a_depth,
                                                        .a_row = part.a_row,
                                                        .a_depth = part.a_depth,
                                                        .b = b.data + j,
                                                        .b_depth = b.depth_stride,
                                                        .depth = depth,
                                                        .sums = sums == nullptr ? nullptr : sums + row * width + j,
                                                        .sums_row = width,
                                                        .c = part.c + row * part.c_row + j,
                                                        .c_row = part.c_row,
                                                        .columns = part.columns - j,
                                                        .bias = part.bias == nullptr ? nullptr : part.bias + j,
                                                        .add = part.add,
                                                        .first = k == 0,
                                                        .last = k + depth == part.depth});
      }
    }
    k += depth;
  } while (k < part.depth);
}

void column_sums(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t stride, float* sums) {
  each_sixteen(columns, [&](std::int64_t j, std::int64_t count) {
    Floats column = zero();
    for (std::int64_t i = 0; i < rows; ++i) column = column + get(x + i * stride + j, count);
    put(sums + j, get(sums + j, count) + column, count);
  });
}

}  // namespace kw::KW_UNIT
