// One block a row: the largest magnitude is reduced by shuffles, then the row, still in the L1 cache, is quantised
// four columns at a time: a 16-byte load, a 4-byte store. The step is a power of two, so its reciprocal is exact.
constexpr int warp_size = 32;
constexpr int threads = 256;
constexpr int warps = threads / warp_size;

template <typename T, int width>
struct alignas(width * sizeof(T)) Pack {
  T at[width];
};

__device__ float warp_max(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

__device__ float block_max(float value) {
  __shared__ float partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_max(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_max(lane < warps ? partial[lane] : 0.0f);
}

__device__ signed char quantise(float value) {
  return static_cast<signed char>(fminf(fmaxf(rintf(value), -127.0f), 127.0f));
}

template <int width>
__global__ void __launch_bounds__(threads)
    quantise_row(const float* __restrict__ x, signed char* __restrict__ q, float* __restrict__ scale, int cols) {
  const size_t start = static_cast<size_t>(blockIdx.x) * cols;
  const auto* in = reinterpret_cast<const Pack<float, width>*>(x + start);
  auto* out = reinterpret_cast<Pack<signed char, width>*>(q + start);
  const int packs = cols / width;

  float top = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<float, width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) top = fmaxf(top, fabsf(pack.at[k]));
  }
  int exponent = 0;
  frexpf(block_max(top), &exponent);
  if (threadIdx.x == 0) scale[blockIdx.x] = ldexpf(1.0f, exponent - 7);

  const float steps_per_unit = ldexpf(1.0f, 7 - exponent);
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<float, width> pack = in[i];
    Pack<signed char, width> level;
#pragma unroll
    for (int k = 0; k < width; ++k) level.at[k] = quantise(pack.at[k] * steps_per_unit);
    out[i] = level;
  }
}

extern "C" void launch(const float* x, signed char* q, float* scale, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    quantise_row<4><<<rows, threads, 0, stream>>>(x, q, scale, cols);
  } else {
    quantise_row<1><<<rows, threads, 0, stream>>>(x, q, scale, cols);
  }
}
