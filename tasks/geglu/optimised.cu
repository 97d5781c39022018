// Bandwidth-bound: a block walks part of one row, a thread gates one pack of four columns with two 16-byte loads.
// Rows start off a 16-byte boundary when cols is no multiple of four; then a pack is a single float.
constexpr int threads = 256;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

__device__ float gelu(float x) {
  constexpr float inverse_sqrt2 = 0.70710678f;
  return 0.5f * x * (1.0f + erff(x * inverse_sqrt2));
}

template <int width>
__global__ void geglu_packs(const float* __restrict__ x, float* __restrict__ y, int cols) {
  const int packs = cols / width;
  const int i = blockIdx.y * threads + threadIdx.x;
  if (i >= packs) return;
  const size_t row = blockIdx.x;
  const auto* in = reinterpret_cast<const Pack<width>*>(x) + row * 2 * packs;
  const Pack<width> value = in[i];
  const Pack<width> gate = in[packs + i];
  Pack<width> out;
#pragma unroll
  for (int k = 0; k < width; ++k) out.at[k] = value.at[k] * gelu(gate.at[k]);
  reinterpret_cast<Pack<width>*>(y)[row * packs + i] = out;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    const dim3 grid(rows, (cols / 4 + threads - 1) / threads);
    geglu_packs<4><<<grid, threads, 0, stream>>>(x, y, cols);
  } else {
    const dim3 grid(rows, (cols + threads - 1) / threads);
    geglu_packs<1><<<grid, threads, 0, stream>>>(x, y, cols);
  }
}
