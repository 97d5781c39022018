// One block a plane: sums and squares in one pass of 16-byte loads, taken about the plane's first element so that a
// large mean costs no precision. The second pass finds the plane in the L1 cache and is one multiply-add an element.
constexpr int warp_size = 32;
constexpr int threads = 256;
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
    normalise_plane(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                    float* __restrict__ y, int channels, int area) {
  const size_t start = static_cast<size_t>(blockIdx.x) * area;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int packs = area / width;

  const float pivot = x[start];
  float2 moments = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) {
      const float value = pack.at[k] - pivot;
      moments.x += value;
      moments.y += value * value;
    }
  }
  moments = block_sum(moments);

  const float offset = moments.x / area;
  const float variance = fmaxf(moments.y / area - offset * offset, 0.0f);
  const int channel = blockIdx.x % channels;
  const float factor = rsqrtf(variance + epsilon) * weight[channel];
  const float shift = bias[channel] - (pivot + offset) * factor;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) pack.at[k] = pack.at[k] * factor + shift;
    out[i] = pack;
  }
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int channels,
                       int height, int width, cudaStream_t stream) {
  const int planes = batch * channels;
  const int area = height * width;
  if (area % 4 == 0) {
    normalise_plane<4><<<planes, threads, 0, stream>>>(x, weight, bias, y, channels, area);
  } else {
    normalise_plane<1><<<planes, threads, 0, stream>>>(x, weight, bias, y, channels, area);
  }
}
