#include <cuda_bf16.h>

// One block a row: eight bfloat16 a load, squares summed in float and reduced by shuffles and one value a warp. The
// second pass finds the row still in the L1 cache.
constexpr int warp_size = 32;
constexpr int threads = 128;
constexpr int warps = threads / warp_size;
constexpr float epsilon = 1e-6f;

template <int width>
struct alignas(width * sizeof(__nv_bfloat16)) Pack {
  __nv_bfloat16 at[width];
};

__device__ float warp_sum(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__device__ float block_sum(float value) {
  __shared__ float partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_sum(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

template <int width>
__global__ void __launch_bounds__(threads)
    rms_norm_row(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                 __nv_bfloat16* __restrict__ y, int cols) {
  const size_t start = static_cast<size_t>(blockIdx.x) * cols;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int packs = cols / width;

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float value = __bfloat162float(pack.at[k]);
      squares += value * value;
    }
  }
  const float scale = rsqrtf(block_sum(squares) / cols + epsilon);

#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += threads) {
    Pack<width> pack = in[i];
    const Pack<width> gain = reinterpret_cast<const Pack<width>*>(weight)[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      pack.at[k] = __float2bfloat16(__bfloat162float(pack.at[k]) * scale * __bfloat162float(gain.at[k]));
    }
    out[i] = pack;
  }
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, int rows, int cols,
                       cudaStream_t stream) {
  if (cols % 8 == 0) {
    rms_norm_row<8><<<rows, threads, 0, stream>>>(x, weight, y, cols);
  } else {
    rms_norm_row<1><<<rows, threads, 0, stream>>>(x, weight, y, cols);
  }
}
