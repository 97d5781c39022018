// Low-rank additions to many rows of one adapter: y is read and written once, which is all the time it takes.

// y (rows, columns) += scale * x w, with x (rows, 16 steps) and w[k, column] = weights[column * by_column + k * by_k].
// A warp does 32 columns of `height` rows, 16 rows at a time: four tiles of the matrix instruction, whose columns are
// dealt out so that a thread has eight neighbours. Its inner index is dealt out likewise: a thread has four neighbours
// of a step. Columns are a multiple of 32; rows of y and x begin at multiples of 16 bytes. grid: (columns / 128 rounded
// up, rows / height rounded up), 128 threads
template <int steps>
__device__ void low_rank_add(bf16* y, int y_stride, const bf16* x, int x_stride, const bf16* weights, int by_column,
                             int by_k, int rows, int columns, float scale, int height) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, quad = lane & 3, line = lane >> 2;
  const int first = (blockIdx.x * 4 + warp) * 32;
  if (first >= columns) return;
  u32 b[steps][4][2];
  for (int s = 0; s < steps; ++s)
    for (int t = 0; t < 4; ++t)
      for (int h = 0; h < 2; ++h) {
        const int column = first + (line >> 1) * 8 + 2 * t + (line & 1), k = 16 * s + 4 * quad + 2 * h;
        const bf16* from = weights + static_cast<u64>(column) * by_column + static_cast<u64>(k) * by_k;
        b[s][t][h] = static_cast<u32>(from[0].bits) | (static_cast<u32>(from[by_k].bits) << 16);
      }
  const int begin = blockIdx.y * height, end = min(begin + height, rows);
#pragma unroll 2
  for (int row = begin + line; row - line < end; row += 16) {
    const bool has[2] = {row < end, row + 8 < end};
    uint4 old[2];
    uint2 own[2][steps];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      old[h] = make_uint4(0, 0, 0, 0);
      for (int s = 0; s < steps; ++s) own[h][s] = make_uint2(0, 0);
      if (!has[h]) continue;
      const u64 at = row + 8 * h;
      old[h] = *reinterpret_cast<const uint4*>(y + at * y_stride + first + quad * 8);
      for (int s = 0; s < steps; ++s)
        own[h][s] = *reinterpret_cast<const uint2*>(x + at * x_stride + 16 * s + 4 * quad);
    }
    float sums[4][4] = {};
    for (int s = 0; s < steps; ++s) {
      const u32 a[4] = {own[0][s].x, own[1][s].x, own[0][s].y, own[1][s].y};
      for (int t = 0; t < 4; ++t) matrix_step(sums[t], a, b[s][t][0], b[s][t][1]);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!has[h]) continue;
      float values[8];
      Pack<bf16>::unpack(old[h], values);
      for (int t = 0; t < 4; ++t) {
        values[2 * t] += scale * sums[t][2 * h];
        values[2 * t + 1] += scale * sums[t][2 * h + 1];
      }
      Pack<bf16>::store(y + static_cast<u64>(row + 8 * h) * y_stride + first + quad * 8, values);
    }
  }
}
#define LOW_RANK_ADD(steps)                                                                                           \
  extern "C" __global__ void __launch_bounds__(128) low_rank_add_##steps(                                             \
      bf16* y, int y_stride, const bf16* x, int x_stride, const bf16* weights, int by_column, int by_k, int rows,     \
      int columns, float scale, int height) {                                                                         \
    low_rank_add<steps>(y, y_stride, x, x_stride, weights, by_column, by_k, rows, columns, scale, height);            \
  }
LOW_RANK_ADD(1)
LOW_RANK_ADD(2)
LOW_RANK_ADD(3)
LOW_RANK_ADD(4)
