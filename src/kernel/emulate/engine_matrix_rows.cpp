// ldmatrix and stmatrix: rows of 8 x 8 matrices between shared memory and registers.

#include "kernel/emulate/engine_matrix.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"

namespace kw {

// Matrix j of 8 x 8 halves has its row addresses in lanes 8 j .. 8 j + 7; lane l gets elements 2 (l % 4) and the next
// of row l / 4.
void run_ldmatrix(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  std::uint64_t addresses[warp_lanes];
  addresses_of(warp, in, matrix.memory, addresses);
  std::uint16_t rows[4][8][8] = {};
  bool undefined[4][8] = {};
  int count = static_cast<int>(matrix.registers_d.size());
  for (int lane = 0; lane < 8 * count; ++lane) {
    if (((active >> lane) & 1) == 0) continue;
    read_lane(warp, in, matrix.memory.space, addresses[lane], lane, 16, rows[lane / 8][lane % 8],
              undefined[lane / 8][lane % 8]);
  }
  for (int j = 0; j < count; ++j) {
    Slot slot = matrix.registers_d[static_cast<std::size_t>(j)];
    for (LaneMask left = active; left != 0; left &= left - 1) {
      int lane = __builtin_ctz(left);
      int row = lane / 4, column = lane % 4 * 2;
      std::uint32_t low = matrix.transposed ? rows[j][column][row] : rows[j][row][column];
      std::uint32_t high = matrix.transposed ? rows[j][column + 1][row] : rows[j][row][column + 1];
      bool unknown = matrix.transposed ? undefined[j][column] || undefined[j][column + 1] : undefined[j][row];
      warp.u32(slot, lane) = low | (high << 16);
      LaneMask& mark = warp.undefined_of(slot);
      mark = (mark & ~(1u << lane)) | (LaneMask{unknown} << lane);
    }
  }
}

void run_stmatrix(Warp& warp, const Instruction& in, LaneMask active) {
  order_and_check(warp, in, active);
  if (warp.worker->launch->options.skips_products()) return;
  const MatrixOperation& matrix = matrix_of(warp, in);
  std::uint64_t addresses[warp_lanes];
  addresses_of(warp, in, matrix.memory, addresses);
  int count = static_cast<int>(matrix.registers_d.size());
  std::uint16_t rows[4][8][8] = {};
  bool undefined[4][8] = {};
  for (int j = 0; j < count; ++j) {
    Slot slot = matrix.registers_d[static_cast<std::size_t>(j)];
    for (int lane = 0; lane < warp_lanes; ++lane) {
      int row = lane / 4, column = lane % 4 * 2;
      bool unknown = ((warp.undefined_of(slot) >> lane) & 1) != 0;
      std::uint32_t bits = warp.u32(slot, lane);
      for (int e = 0; e < 2; ++e) {
        auto value = static_cast<std::uint16_t>(bits >> (16 * e));
        (matrix.transposed ? rows[j][column + e][row] : rows[j][row][column + e]) = value;
        undefined[j][matrix.transposed ? column + e : row] |= unknown;
      }
    }
  }
  for (int lane = 0; lane < 8 * count; ++lane) {
    if (((active >> lane) & 1) == 0) continue;
    write_lane(warp, in, matrix.memory.space, addresses[lane], lane, 16, rows[lane / 8][lane % 8],
               undefined[lane / 8][lane % 8]);
  }
}

}  // namespace kw
