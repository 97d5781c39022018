// One block a row: 16-byte loads, the squares reduced by shuffles and one value a warp, and a second pass that finds
// the row still in the L1 cache. Short rows get small blocks, so that no warp stands idle.
constexpr int warp_size = 32;
constexpr float epsilon = 1e-6f;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

__device__ float warp_sum(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <int threads>
__device__ float block_sum(float value) {
  constexpr int warps = threads / warp_size;
  __shared__ float partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_sum(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

template <int width, int threads>
__global__ void __launch_bounds__(threads)
    rms_norm_row(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y, int cols) {
  const size_t start = static_cast<size_t>(blockIdx.x) * cols;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + start);
  auto* out = reinterpret_cast<Pack<width>*>(y + start);
  const int packs = cols / width;

  float squares = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) squares += pack.at[k] * pack.at[k];
  }
  const float scale = rsqrtf(block_sum<threads>(squares) / cols + epsilon);

#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    Pack<width> pack = in[i];
    const Pack<width> gain = reinterpret_cast<const Pack<width>*>(weight)[i];
#pragma unroll
    for (int k = 0; k < width; ++k) pack.at[k] *= scale * gain.at[k];
    out[i] = pack;
  }
}

template <int width>
void launch_rows(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols <= 1024) {
    rms_norm_row<width, 64><<<rows, 64, 0, stream>>>(x, weight, y, cols);
  } else {
    rms_norm_row<width, 256><<<rows, 256, 0, stream>>>(x, weight, y, cols);
  }
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    launch_rows<4>(x, weight, y, rows, cols, stream);
  } else {
    launch_rows<1>(x, weight, y, rows, cols, stream);
  }
}
