#include <cuda_fp16.h>
#include <cfloat>

// One warp a row and no barrier. The first pass keeps a running maximum and a sum scaled to it; the second reads the
// row again while it is still in the L1 cache. Eight halves a load.
constexpr int warp_size = 32;
constexpr int rows_per_block = 4;

template <int width>
struct alignas(width * sizeof(__half)) Pack {
  __half at[width];
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
__global__ void softmax_rows(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + static_cast<size_t>(row) * cols);
  auto* out = reinterpret_cast<Pack<width>*>(y + static_cast<size_t>(row) * cols);
  const int packs = cols / width;

  Running running;
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += warp_size) {
    const Pack<width> pack = in[i];
    float top = -FLT_MAX;
#pragma unroll
    for (int k = 0; k < width; ++k) top = fmaxf(top, __half2float(pack.at[k]));
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < width; ++k) sum += __expf(__half2float(pack.at[k]) - top);
    running.merge(top, sum);
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float top = __shfl_xor_sync(0xffffffffu, running.top, offset);
    const float sum = __shfl_xor_sync(0xffffffffu, running.sum, offset);
    running.merge(top, sum);
  }

  const float scale = 1.0f / running.sum;
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += warp_size) {
    Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      pack.at[k] = __float2half(__expf(__half2float(pack.at[k]) - running.top) * scale);
    }
    out[i] = pack;
  }
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (cols % 8 == 0) {
    softmax_rows<8><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  } else {
    softmax_rows<1><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  }
}
