// A thread keeps its four columns of the bias in registers for four rows: the bias is read once for all of them, and
// the four 16-byte loads are in flight together.
constexpr int threads = 256;
constexpr int rows_per_block = 4;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

template <int width>
__global__ void bias_add_packs(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y,
                               int rows, int cols) {
  const int packs = cols / width;
  const int i = blockIdx.y * threads + threadIdx.x;
  if (i >= packs) return;
  const int first_row = blockIdx.x * rows_per_block;
  const int height = min(rows_per_block, rows - first_row);
  const size_t start = static_cast<size_t>(first_row) * packs + i;
  const auto* in = reinterpret_cast<const Pack<width>*>(x) + start;
  auto* out = reinterpret_cast<Pack<width>*>(y) + start;

  const Pack<width> shift = reinterpret_cast<const Pack<width>*>(bias)[i];
  Pack<width> value[rows_per_block];
#pragma unroll
  for (int r = 0; r < rows_per_block; ++r) {
    if (r < height) value[r] = in[static_cast<size_t>(r) * packs];
  }
#pragma unroll
  for (int r = 0; r < rows_per_block; ++r) {
    if (r >= height) break;
#pragma unroll
    for (int k = 0; k < width; ++k) value[r].at[k] += shift.at[k];
    out[static_cast<size_t>(r) * packs] = value[r];
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  const int row_blocks = ceil_div(rows, rows_per_block);
  if (cols % 4 == 0) {
    const dim3 grid(row_blocks, ceil_div(cols / 4, threads));
    bias_add_packs<4><<<grid, threads, 0, stream>>>(x, bias, y, rows, cols);
  } else {
    const dim3 grid(row_blocks, ceil_div(cols, threads));
    bias_add_packs<1><<<grid, threads, 0, stream>>>(x, bias, y, rows, cols);
  }
}
