#include <cfloat>

// One warp a row, one pass: each lane keeps a running maximum and a sum scaled to it, so the logits are read once,
// in 16-byte loads; the target's logit is one extra load.
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
__global__ void cross_entropy(const float* __restrict__ logits, const int* __restrict__ target,
                              float* __restrict__ loss, int rows, int classes) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const float* scores = logits + static_cast<size_t>(row) * classes;
  Running running;
#pragma unroll 4
  for (int i = threadIdx.x; i < classes / width; i += warp_size) {
    const Pack<width> pack = reinterpret_cast<const Pack<width>*>(scores)[i];
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
  if (threadIdx.x == 0) loss[row] = logf(running.sum) + running.top - scores[target[row]];
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes,
                       cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (classes % 4 == 0) {
    cross_entropy<4><<<blocks, block, 0, stream>>>(logits, target, loss, rows, classes);
  } else {
    cross_entropy<1><<<blocks, block, 0, stream>>>(logits, target, loss, rows, classes);
  }
}
