#include "model/arithmetic/linear.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/packed_layout.h"

namespace kw {

class LinearKernels {
 public:
  static ProductColumns outputs(const PackedWeight& weight) {
    return {.kind = ProductColumns::Kind::packed,
            .format = weight.format_,
            .data = weight.storage_.data(),
            .columns = weight.out_};
  }
  static ProductColumns inputs(const PackedWeight& weight) {
    return {.kind = ProductColumns::Kind::packed_depth,
            .format = weight.format_,
            .data = weight.storage_.data(),
            .columns = weight.in_};
  }
};

namespace {

constexpr std::int64_t most_rows = 240;       // of a part: its rows of A and its sums stay in the second cache
constexpr std::int64_t longest_chain = 512;   // of gradients; whole panels
constexpr std::int64_t small_work = 1 << 15;  // multiply-adds that are not worth waking a thread

ProductColumns floats(ProductColumns::Kind kind, const float* data, std::int64_t stride, std::int64_t columns) {
  return {.kind = kind, .data = reinterpret_cast<const std::byte*>(data), .stride = stride, .columns = columns};
}

// Splits a product into blocks of rows and panels of columns. How is a matter of speed alone.
void multiply(ThreadTeam& team, const ProductPart& whole) {
  if (whole.rows <= 0 || whole.columns <= 0) return;
  const std::int64_t panels = (whole.columns + panel_width - 1) / panel_width;
  // Enough parts that threads finish together, few enough that B's expansion is shared by many rows.
  const bool small = whole.rows * whole.columns * whole.depth < small_work;
  const std::int64_t wanted = team.size() == 1 || small ? 1 : 4 * team.size();
  std::int64_t blocks = (whole.rows + most_rows - 1) / most_rows;
  if (blocks * panels < wanted) blocks = std::max(blocks, std::min(wanted / panels, whole.rows / 24));
  const std::int64_t block_rows = ((whole.rows + blocks - 1) / blocks + 5) / 6 * 6;
  blocks = (whole.rows + block_rows - 1) / block_rows;
  // Few rows and an odd number of panels: halves of a panel balance better.
  const bool halves = blocks == 1 && wanted > 1 && panels % team.size() != 0 && panels < 8 * team.size();
  const std::int64_t width = halves ? panel_width / 2 : panel_width;
  const std::int64_t strips = (whole.columns + width - 1) / width;
  const Kernels& unit = kernels();
  const auto body = [&](std::int64_t index) {
    const std::int64_t row = index / strips * block_rows, column = index % strips * width;
    ProductPart part = whole;
    part.a += row * whole.a_row;
    part.rows = std::min(block_rows, whole.rows - row);
    part.first_column = column;
    part.columns = std::min(width, whole.columns - column);
    part.c += row * whole.c_row + column;
    if (part.bias != nullptr) part.bias += column;
    unit.product(part);
  };
  if (small) {
    for (std::int64_t i = 0; i < blocks * strips; ++i) body(i);
  } else {
    team.run(blocks * strips, std::ref(body));
  }
}

// Sums of gradients may be longer than any row of a model (the vocabulary, the tokens of a batch), and one chain of
// float32 loses digits with its length. So they are sums of sums.
void multiply_in_pieces(ThreadTeam& team, const ProductPart& whole) {
  for (std::int64_t first = 0; first < whole.depth; first += longest_chain) {
    ProductPart piece = whole;
    piece.depth = std::min(longest_chain, whole.depth - first);
    piece.a += first * whole.a_depth;
    piece.add = whole.add || first > 0;
    piece.b.data += piece.b.kind == ProductColumns::Kind::by_depth
                        ? first * whole.b.stride * static_cast<std::int64_t>(sizeof(float))
                        : first * packed_bytes(whole.b.format, whole.b.columns);
    multiply(team, piece);
  }
}

}  // namespace

void linear(ThreadTeam& team, const LinearRows& rows, const PackedWeight& weight, const float* bias, bool add) {
  multiply(team, {.a = rows.x,
                  .a_row = rows.x_stride,
                  .rows = rows.rows,
                  .depth = weight.in(),
                  .b = LinearKernels::outputs(weight),
                  .columns = weight.out(),
                  .c = rows.y,
                  .c_row = rows.y_stride,
                  .bias = bias,
                  .add = add});
}

void linear(ThreadTeam& team, const LinearRows& rows, const float* weight, std::int64_t out, std::int64_t in,
            const float* bias, bool add) {
  multiply(team, {.a = rows.x,
                  .a_row = rows.x_stride,
                  .rows = rows.rows,
                  .depth = in,
                  .b = floats(ProductColumns::Kind::by_column, weight, in, out),
                  .columns = out,
                  .c = rows.y,
                  .c_row = rows.y_stride,
                  .bias = bias,
                  .add = add});
}

void linear_input_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const float* weight, std::int64_t out,
                           std::int64_t in, float* dx, bool add) {
  multiply_in_pieces(team, {.a = dy,
                            .a_row = out,
                            .rows = rows,
                            .depth = out,
                            .b = floats(ProductColumns::Kind::by_depth, weight, in, in),
                            .columns = in,
                            .c = dx,
                            .c_row = in,
                            .add = add});
}

void linear_input_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const PackedWeight& weight, float* dx,
                           bool add) {
  multiply_in_pieces(team, {.a = dy,
                            .a_row = weight.out(),
                            .rows = rows,
                            .depth = weight.out(),
                            .b = LinearKernels::inputs(weight),
                            .columns = weight.in(),
                            .c = dx,
                            .c_row = weight.in(),
                            .add = add});
}

void linear_weight_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, const float* x, std::int64_t out,
                            std::int64_t in, float* dweight, float* dbias) {
  multiply_in_pieces(team, {.a = dy,
                            .a_row = 1,
                            .a_depth = out,
                            .rows = out,
                            .depth = rows,
                            .b = floats(ProductColumns::Kind::by_depth, x, in, in),
                            .columns = in,
                            .c = dweight,
                            .c_row = in,
                            .add = true});
  if (dbias == nullptr) return;
  const Kernels& unit = kernels();
  const std::int64_t strips = (out + panel_width - 1) / panel_width;
  const auto body = [&](std::int64_t strip) {
    const std::int64_t first = strip * panel_width;
    unit.column_sums(rows, std::min(panel_width, out - first), dy + first, out, dbias + first);
  };
  if (rows * out < small_work) {
    for (std::int64_t strip = 0; strip < strips; ++strip) body(strip);
  } else {
    team.run(strips, std::ref(body));
  }
}

}  // namespace kw
