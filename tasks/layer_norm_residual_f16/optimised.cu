#include <cuda_fp16.h>

// One block a row: eight halves a load, sums and squares of x + residual in one pass in float, taken about the row's
// first value so that a large mean costs no precision. The second pass finds the row still in the L1 cache.
constexpr int warp_size = 32;
constexpr int threads = 128;
constexpr int warps = threads / warp_size;
constexpr float epsilon = 1e-5f;

template <int width>
struct alignas(width * sizeof(__half)) Pack {
  __half at[width];
};

__device__ float2 warp_sum(float2 value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffffu, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffffu, value.y, offset);
  }
  return value;
}

__device__ float2 block_sum(float2 value) {
  __shared__ float2 partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_sum(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : make_float2(0.0f, 0.0f));
}

__device__ float add(__half a, __half b) { return __half2float(a) + __half2float(b); }

template <int width>
__global__ void __launch_bounds__(threads)
    layer_norm_row(const __half* __restrict__ x, const __half* __restrict__ residual, const __half* __restrict__ weight,
                   const __half* __restrict__ bias, __half* __restrict__ y, int cols) {
  const size_t start = static_cast<size_t>(blockIdx.x) * cols;
  const auto* left = reinterpret_cast<const Pack<width>*>(x + start);
  const auto* right = reinterpret_cast<const Pack<width>*>(residual + start);
  const auto* gains = reinterpret_cast<const Pack<width>*>(weight);
  const auto* shifts = reinterpret_cast<const Pack<width>*>(bias);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int packs = cols / width;

  const float pivot = add(x[start], residual[start]);
  float2 moments = make_float2(0.0f, 0.0f);
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> a = left[i], b = right[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float value = add(a.at[k], b.at[k]) - pivot;
      moments.x += value;
      moments.y += value * value;
    }
  }
  moments = block_sum(moments);

  const float offset = moments.x / cols;
  const float mean = pivot + offset;
  const float variance = fmaxf(moments.y / cols - offset * offset, 0.0f);
  const float scale = rsqrtf(variance + epsilon);
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> a = left[i], b = right[i], gain = gains[i], shift = shifts[i];
    Pack<width> pack;
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float normal = (add(a.at[k], b.at[k]) - mean) * scale;
      pack.at[k] = __float2half(normal * __half2float(gain.at[k]) + __half2float(shift.at[k]));
    }
    out[i] = pack;
  }
}

extern "C" void launch(const __half* x, const __half* residual, const __half* weight, const __half* bias, __half* y,
                       int rows, int cols, cudaStream_t stream) {
  if (cols % 8 == 0) {
    layer_norm_row<8><<<rows, threads, 0, stream>>>(x, residual, weight, bias, y, cols);
  } else {
    layer_norm_row<1><<<rows, threads, 0, stream>>>(x, residual, weight, bias, y, cols);
  }
}
