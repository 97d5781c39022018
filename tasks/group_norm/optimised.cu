// One block a group, whose channels lie one after another: sums and squares in one pass of 16-byte loads, taken about
// the group's first element so that a large mean costs no precision. The second pass is served by the caches, with
// each channel's gain and shift folded into one multiply-add.
constexpr int warp_size = 32;
constexpr int threads = 512;
constexpr int warps = threads / warp_size;
constexpr float epsilon = 1e-5f;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
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
    normalise_group(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                    float* __restrict__ y, int groups, int channels, int area) {
  const int size = channels * area;
  const size_t start = static_cast<size_t>(blockIdx.x) * size;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);

  const float pivot = x[start];
  float2 moments = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int i = threadIdx.x; i < size / width; i += threads) {
    const Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float value = pack.at[k] - pivot;
      moments.x += value;
      moments.y += value * value;
    }
  }
  moments = block_sum(moments);

  const float offset = moments.x / size;
  const float variance = fmaxf(moments.y / size - offset * offset, 0.0f);
  const float scale = rsqrtf(variance + epsilon);
  const int first_channel = blockIdx.x % groups * channels;
  const int packs = area / width;
  for (int c = 0; c < channels; ++c) {
    const float factor = scale * weight[first_channel + c];
    const float shift = bias[first_channel + c] - (pivot + offset) * factor;
#pragma unroll 4
    for (int i = threadIdx.x; i < packs; i += threads) {
      Pack<width> pack = in[c * packs + i];
#pragma unroll
      for (int k = 0; k < width; ++k) pack.at[k] = pack.at[k] * factor + shift;
      out[c * packs + i] = pack;
    }
  }
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int groups,
                       int width, int area, cudaStream_t stream) {
  if (area % 4 == 0) {
    normalise_group<4><<<batch * groups, threads, 0, stream>>>(x, weight, bias, y, groups, width, area);
  } else {
    normalise_group<1><<<batch * groups, threads, 0, stream>>>(x, weight, bias, y, groups, width, area);
  }
}
