#include <cuda_bf16.h>

// One block a row: eight bfloat16 a load, sums and squares in one pass in float, taken about the row's first element
// so that a large mean costs no precision. The second pass finds the row still in the L1 cache.
constexpr int warp_size = 32;
constexpr int threads = 128;
constexpr int warps = threads / warp_size;
constexpr float epsilon = 1e-5f;

template <int width>
struct alignas(width * sizeof(__nv_bfloat16)) Pack {
  __nv_bfloat16 at[width];
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

template <int width>
__global__ void __launch_bounds__(threads)
    layer_norm_row(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                   const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ y, int dim) {
  const size_t start = static_cast<size_t>(blockIdx.x) * dim;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int packs = dim / width;

  const float pivot = __bfloat162float(x[start]);
  float2 moments = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float value = __bfloat162float(pack.at[k]) - pivot;
      moments.x += value;
      moments.y += value * value;
    }
  }
  moments = block_sum(moments);

  const float offset = moments.x / dim;
  const float mean = pivot + offset;
  const float variance = fmaxf(moments.y / dim - offset * offset, 0.0f);
  const float scale = rsqrtf(variance + epsilon);
#pragma unroll 2
  for (int i = threadIdx.x; i < packs; i += threads) {
    Pack<width> pack = in[i];
    const Pack<width> gain = reinterpret_cast<const Pack<width>*>(weight)[i];
    const Pack<width> shift = reinterpret_cast<const Pack<width>*>(bias)[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float normal = (__bfloat162float(pack.at[k]) - mean) * scale;
      pack.at[k] = __float2bfloat16(normal * __bfloat162float(gain.at[k]) + __bfloat162float(shift.at[k]));
    }
    out[i] = pack;
  }
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* weight, const __nv_bfloat16* bias, __nv_bfloat16* y,
                       int batch, int seq, int dim, cudaStream_t stream) {
  const int rows = batch * seq;
  if (dim % 8 == 0) {
    layer_norm_row<8><<<rows, threads, 0, stream>>>(x, weight, bias, y, dim);
  } else {
    layer_norm_row<1><<<rows, threads, 0, stream>>>(x, weight, bias, y, dim);
  }
}
