#include "model/arithmetic/muon.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/check.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/packed_layout.h"

namespace kw {
namespace {

// Jordan's: the steepest quintic at zero that keeps singular values of [0, 1] within about [0.7, 1.2] in the end.
constexpr float linear_term = 3.4445f, cubic_term = -4.7750f, quintic_term = 2.0315f;
constexpr float least_norm = 1e-7f;
constexpr double update_rms = 0.2;        // AdamW's usual one, arXiv 2502.16982
constexpr std::int64_t most_rows = 240;   // as in linear.cpp: of A and its sums stay in the second cache
constexpr std::int64_t rows_of_tile = 6;  // blocks of whole tiles

using Kind = ProductColumns::Kind;
using Room = MuonScratch::Room;

ProductColumns floats(Kind kind, const float* data, std::int64_t stride, std::int64_t columns) {
  return {.kind = kind, .data = reinterpret_cast<const std::byte*>(data), .stride = stride, .columns = columns};
}

// On this thread alone. `symmetric`: only rows from the column's panel on; mirror() fills in the others.
void multiply(const ProductPart& whole, bool symmetric) {
  const Kernels& unit = kernels();
  for (std::int64_t column = 0; column < whole.columns; column += panel_width) {
    const std::int64_t first = symmetric ? column : 0;
    const std::int64_t blocks = (whole.rows - first + most_rows - 1) / most_rows;
    const std::int64_t block_rows =
        ((whole.rows - first + blocks - 1) / blocks + rows_of_tile - 1) / rows_of_tile * rows_of_tile;
    for (std::int64_t row = first; row < whole.rows; row += block_rows) {
      ProductPart part = whole;
      part.a += row * whole.a_row;
      part.rows = std::min(block_rows, whole.rows - row);
      part.first_column = column;
      part.columns = std::min(panel_width, whole.columns - column);
      part.c += row * whole.c_row + column;
      unit.product(part);
    }
  }
}

// The part above the diagonal from the part below it, in squares that the first cache holds.
void mirror(float* square, std::int64_t size) {
  constexpr std::int64_t edge = 16;
  for (std::int64_t rows = 0; rows < size; rows += edge) {
    for (std::int64_t columns = rows; columns < size; columns += edge) {
      for (std::int64_t i = rows; i < std::min(size, rows + edge); ++i) {
        for (std::int64_t j = std::max(i + 1, columns); j < std::min(size, columns + edge); ++j) {
          square[i * size + j] = square[j * size + i];
        }
      }
    }
  }
}

// Singular values of room.x (out, in), at most 1, become about 1. The quintic is taken of the smaller of X X^T and
// X^T X; for the latter it multiplies from the right, so no matrix is ever transposed.
void orthogonalise(Room& room, std::int64_t out, std::int64_t in, int iterations) {
  const bool wide = out <= in;
  const std::int64_t size = std::min(out, in), depth = std::max(out, in);
  room.next.resize(static_cast<std::size_t>(out * in));
  room.gram.resize(static_cast<std::size_t>(size * size));
  room.polynomial.resize(static_cast<std::size_t>(size * size));
  float* gram = room.gram.data();
  float* polynomial = room.polynomial.data();
  for (int i = 0; i < iterations; ++i) {
    const float* x = room.x.data();
    multiply({.a = x,
              .a_row = wide ? in : 1,
              .a_depth = wide ? 1 : in,
              .rows = size,
              .depth = depth,
              .b = floats(wide ? Kind::by_column : Kind::by_depth, x, in, size),
              .columns = size,
              .c = gram,
              .c_row = size},
             true);
    mirror(gram, size);
    multiply({.a = gram,
              .a_row = size,
              .rows = size,
              .depth = size,
              .b = floats(Kind::by_depth, gram, size, size),
              .columns = size,
              .c = polynomial,
              .c_row = size},
             true);
    for (std::int64_t row = 0; row < size; ++row) {
      float* p = polynomial + row * size;
      const float* g = gram + row * size;
      for (std::int64_t j = 0; j <= row; ++j) p[j] = cubic_term * g[j] + quintic_term * p[j];
      p[row] += linear_term;
    }
    mirror(polynomial, size);
    const ProductColumns right = wide ? floats(Kind::by_depth, x, in, in) : floats(Kind::by_depth, polynomial, in, in);
    multiply({.a = wide ? polynomial : x,
              .a_row = wide ? out : in,
              .rows = out,
              .depth = size,
              .b = right,
              .columns = in,
              .c = room.next.data(),
              .c_row = in},
             false);
    std::swap(room.x, room.next);
  }
}

void move_matrix(const MuonStep& step, const MuonMatrix& matrix, float* parameters, const float* gradients,
                 float* momentum, Room& room) {
  const std::int64_t size = matrix.out * matrix.in;
  room.x.resize(static_cast<std::size_t>(size));
  float* x = room.x.data();
  const float kept = step.momentum, fresh = 1 - step.momentum;
  for (std::int64_t i = 0; i < size; ++i) {
    const float gradient = gradients[i] * step.gradient_scale;
    momentum[i] = kept * momentum[i] + fresh * gradient;
    x[i] = step.nesterov ? fresh * gradient + kept * momentum[i] : momentum[i];
  }
  const auto norm = static_cast<float>(std::sqrt(kernels().sum_of_squares(x, size)));
  const float inverse = 1 / std::max(norm, least_norm);
  for (std::int64_t i = 0; i < size; ++i) x[i] *= inverse;
  orthogonalise(room, matrix.out, matrix.in, step.iterations);
  x = room.x.data();
  const double rate = static_cast<double>(step.learning_rate);
  const auto decay = static_cast<float>(1.0 - rate * static_cast<double>(step.weight_decay));
  const auto along =
      static_cast<float>(rate * update_rms * std::sqrt(static_cast<double>(std::max(matrix.out, matrix.in))));
  for (std::int64_t i = 0; i < size; ++i) parameters[i] = parameters[i] * decay - along * x[i];
}

// Of one iteration, in multiplications.
std::int64_t work_of(const MuonMatrix& matrix) {
  const std::int64_t size = std::min(matrix.out, matrix.in);
  return size * size * (3 * std::max(matrix.out, matrix.in) + size) / 2;
}

}  // namespace

void muon(ThreadTeam& team, const MuonStep& step, std::span<const MuonMatrix> matrices, std::span<float> parameters,
          std::span<const float> gradients, std::span<float> momentum, MuonScratch& scratch) {
  KW_CHECK(gradients.size() == parameters.size() && momentum.size() == parameters.size());
  for (const MuonMatrix& matrix : matrices) {
    KW_CHECK(matrix.out > 0 && matrix.in > 0 && matrix.offset >= 0 &&
             matrix.offset + matrix.out * matrix.in <= static_cast<std::int64_t>(parameters.size()));
  }
  // The largest first: threads finish together.
  std::vector<std::size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return work_of(matrices[i]); });
  scratch.rooms_.resize(static_cast<std::size_t>(team.size()));
  std::vector<Room*> free;
  for (Room& room : scratch.rooms_) free.push_back(&room);
  std::mutex mutex;
  team.run(static_cast<std::int64_t>(order.size()), [&](std::int64_t part) {
    const MuonMatrix& matrix = matrices[order[static_cast<std::size_t>(part)]];
    Room* room = nullptr;
    {
      const std::lock_guard lock(mutex);
      room = free.back();
      free.pop_back();
    }
    move_matrix(step, matrix, parameters.data() + matrix.offset, gradients.data() + matrix.offset,
                momentum.data() + matrix.offset, *room);
    const std::lock_guard lock(mutex);
    free.push_back(room);
  });
}

}  // namespace kw
