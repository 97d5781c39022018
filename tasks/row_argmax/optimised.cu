#include <math_constants.h>

// One warp a row with 16-byte loads. A lane walks its columns upwards, so only a greater value replaces its best;
// the warp merges by shuffles, where equal values go to the lower column.
constexpr int warp_size = 32;
constexpr int rows_per_block = 4;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

template <int width>
__global__ void row_argmax(const float* __restrict__ x, int* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const auto* line = reinterpret_cast<const Pack<width>*>(x + static_cast<size_t>(row) * cols);
  float best = -CUDART_INF_F;
  int best_col = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < cols / width; i += warp_size) {
    const Pack<width> pack = line[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      if (pack.at[k] > best) {
        best = pack.at[k];
        best_col = i * width + k;
      }
    }
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, offset);
    const int other_col = __shfl_xor_sync(0xffffffffu, best_col, offset);
    if (other > best || (other == best && other_col < best_col)) {
      best = other;
      best_col = other_col;
    }
  }
  if (threadIdx.x == 0) y[row] = best_col;
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (cols % 4 == 0) {
    row_argmax<4><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  } else {
    row_argmax<1><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  }
}
