#include <cfloat>

// One warp a row. Row r has r + 1 live columns: only those are read, which halves the traffic in, and the dead ones
// are written as zeros. The first pass keeps a running maximum and sum; the second is served by the L1 cache.
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
__global__ void causal_softmax(const float* __restrict__ scores, float* __restrict__ y, int rows, int seq) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const size_t start = static_cast<size_t>(row) * seq;
  const auto* in = reinterpret_cast<const Pack<width>*>(scores + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int live = row % seq + 1;
  const int live_packs = (live + width - 1) / width;

  Running running;
#pragma unroll 2
  for (int i = threadIdx.x; i < live_packs; i += warp_size) {
    const Pack<width> pack = in[i];
    float top = -FLT_MAX;
#pragma unroll
    for (int k = 0; k < width; ++k) top = i * width + k < live ? fmaxf(top, pack.at[k]) : top;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < width; ++k) sum += i * width + k < live ? __expf(pack.at[k] - top) : 0.0f;
    running.merge(top, sum);
  }
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float top = __shfl_xor_sync(0xffffffffu, running.top, offset);
    const float sum = __shfl_xor_sync(0xffffffffu, running.sum, offset);
    running.merge(top, sum);
  }

  const float scale = 1.0f / running.sum;
#pragma unroll 2
  for (int i = threadIdx.x; i < seq / width; i += warp_size) {
    Pack<width> pack{};
    if (i < live_packs) {
      pack = in[i];
#pragma unroll
      for (int k = 0; k < width; ++k) {
        pack.at[k] = i * width + k < live ? __expf(pack.at[k] - running.top) * scale : 0.0f;
      }
    }
    out[i] = pack;
  }
}

extern "C" void launch(const float* scores, float* y, int batch, int seq, cudaStream_t stream) {
  const int rows = batch * seq;
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (seq % 4 == 0) {
    causal_softmax<4><<<blocks, block, 0, stream>>>(scores, y, rows, seq);
  } else {
    causal_softmax<1><<<blocks, block, 0, stream>>>(scores, y, rows, seq);
  }
}
