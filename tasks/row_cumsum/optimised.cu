// One warp a row, 128 columns a step: a lane scans its own four values, shuffles scan the lanes' totals, and the
// warp's running total is carried to the next step. Everything is read and written once, 16 bytes at a time.
constexpr int warp_size = 32;
constexpr int rows_per_block = 4;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

__device__ float inclusive_warp_scan(float value) {
  for (int offset = 1; offset < warp_size; offset *= 2) {
    const float below = __shfl_up_sync(0xffffffffu, value, offset);
    if (threadIdx.x >= offset) value += below;
  }
  return value;
}

template <int width>
__global__ void row_cumsum(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const auto* in = reinterpret_cast<const Pack<width>*>(x + static_cast<size_t>(row) * cols);
  auto* out = reinterpret_cast<Pack<width>*>(y + static_cast<size_t>(row) * cols);
  const int packs = cols / width;

  float carry = 0.0f;
#pragma unroll 4
  for (int start = 0; start < packs; start += warp_size) {
    const int i = start + threadIdx.x;
    Pack<width> pack{};
    if (i < packs) pack = in[i];
#pragma unroll
    for (int k = 1; k < width; ++k) pack.at[k] += pack.at[k - 1];
    const float scanned = inclusive_warp_scan(pack.at[width - 1]);
    const float below = __shfl_up_sync(0xffffffffu, scanned, 1);
    const float before = threadIdx.x == 0 ? carry : carry + below;
#pragma unroll
    for (int k = 0; k < width; ++k) pack.at[k] += before;
    if (i < packs) out[i] = pack;
    carry += __shfl_sync(0xffffffffu, scanned, warp_size - 1);
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (cols % 4 == 0) {
    row_cumsum<4><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  } else {
    row_cumsum<1><<<blocks, block, 0, stream>>>(x, y, rows, cols);
  }
}
