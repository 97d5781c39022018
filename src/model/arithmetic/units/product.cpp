#include <algorithm>
#include <vector>

#include "model/arithmetic/packed_layout.h"
#include "model/arithmetic/units/columns.h"
#include "model/arithmetic/units/few_rows.h"
#include "model/arithmetic/units/kernels_of_unit.h"
#include "model/arithmetic/units/tile.h"

namespace kw::KW_UNIT {
namespace {

constexpr std::int64_t few_rows_depth_block = 64;  // 64 columns of it fit the first cache: expanded, used and gone
constexpr std::int64_t depth_block = 256;  // whole units; 64 columns of it and the rows of A stay in the second cache

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
  if (product_of_few_rows(part)) return;
  thread_local Scratch scratch;
  const std::int64_t width = lanes_up(part.columns);
  const bool lie_ready = part.b.kind == ProductColumns::Kind::packed && part.b.format == BlockFormat::f32;
  const std::int64_t row_tiles = (part.rows + tile_rows - 1) / tile_rows;
  // Floats that are read once need no blocks.
  const std::int64_t best =
      lie_ready ? (row_tiles == 1 ? part.depth : depth_block) : (row_tiles <= 4 ? few_rows_depth_block : depth_block);
  const std::int64_t block = std::min(part.depth, best);
  float* buffer = lie_ready ? nullptr : scratch.room(scratch.columns, (block + lanes) * width);
  float* sums = block < part.depth ? scratch.room(scratch.sums, part.rows * width) : nullptr;

  std::int64_t k = 0;
  do {
    const std::int64_t depth = std::min(block, part.depth - k);
    const ColumnBlock b = fetch_columns(part.b, part.depth, k, depth, part.first_column, width, buffer);
    for (std::int64_t i = 0; i < row_tiles; ++i) {
      const std::int64_t row = part.rows * i / row_tiles, rows = part.rows * (i + 1) / row_tiles - row;
      for (std::int64_t j = 0; j < width;) {
        const std::int64_t vectors = std::min(vectors_beside(rows), (width - j) / lanes);
        run_tile(rows, vectors,
                 {.a = part.a + row * part.a_row + k * part.a_depth,
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
        j += vectors * lanes;
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
