#include <cfloat>

// One warp a row, one pass: each lane keeps a running maximum and a sum scaled to it, so every element is read once.
constexpr int warp_size = 32;
constexpr int rows_per_block = 8;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

// The sum of exp(value - top) over what has been seen.
struct Running {
  float top = -FLT_MAX;
  float sum = 0.0f;

  __device__ void merge(float other_top, float other_sum) {
    const float highest = fmaxf(top, other_top);
    sum = sum * __expf(top - highest) + other_sum * __expf(other_top - highest);
    top = highest;
  }
};

template <int width>
__global__ void row_logsumexp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const auto* line = reinterpret_cast<const Pack<width>*>(x + static_cast<size_t>(row) * cols);
  Running running;
#pragma unroll 4
  for (int i = threadIdx.x; i < cols / width; i += warp_size) {
    const Pack<width> pack = line[i];
    float top = -FLT_MAX;
#pragma unroll
    for (int k = 0; k < width; ++k) top = fmaxf(top, pack.at[k]);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < width; ++k) sum += __expf(pack.at[k] - top);
    running.merge(top, sum);
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float top = __shfl_xor_sync(0xffffffffu, running.top, offset);
    const float sum = __shfl_xor_sync(0xffffffffu, running.sum, offset);
    running.merge(top, sum);
  }
  if (threadIdx.x == 0) y[row] = running.top + logf(running.sum);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (cols % 4 == 0) {
    row_logsumexp<4><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  } else {
    row_logsumexp<1><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  }
}
