// Bandwidth-bound by the stores: a thread turns four bytes into one 16-byte store, and a block stays in one row, so the
// scale is one broadcast load and no index is divided.
constexpr int threads = 256;

template <typename T, int width>
struct alignas(width * sizeof(T)) Pack {
  T at[width];
};

template <int width>
__global__ void dequantise_row(const signed char* __restrict__ q, const float* __restrict__ scale,
                               float* __restrict__ y, int cols) {
  const int packs = cols / width;
  const auto* in = reinterpret_cast<const Pack<signed char, width>*>(q) + static_cast<size_t>(blockIdx.x) * packs;
  auto* out = reinterpret_cast<Pack<float, width>*>(y) + static_cast<size_t>(blockIdx.x) * packs;
  const float step = scale[blockIdx.x];
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<signed char, width> level = in[i];
    Pack<float, width> value;
#pragma unroll
    for (int k = 0; k < width; ++k) value.at[k] = level.at[k] * step;
    out[i] = value;
  }
}

extern "C" void launch(const signed char* q, const float* scale, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    dequantise_row<4><<<rows, threads, 0, stream>>>(q, scale, y, cols);
  } else {
    dequantise_row<1><<<rows, threads, 0, stream>>>(q, scale, y, cols);
  }
}
