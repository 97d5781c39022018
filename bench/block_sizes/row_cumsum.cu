// task: row_cumsum
// A warp a row: a scan of 32 elements after the other, each waits for the one before.
constexpr int threads = 32;  // of a block; the variants have more

__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float before = 0.0f;
  for (int first = 0; first < cols; first += 32) {
    const int c = first + lane;
    float value = c < cols ? x[(size_t)row * cols + c] : 0.0f;
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, value, step);
      if (lane >= step) value += other;
    }
    if (c < cols) y[(size_t)row * cols + c] = before + value;
    before += __shfl_sync(0xffffffffu, value, 31);
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int each = threads / 32;
  cumsum_kernel<<<(rows + each - 1) / each, threads, 0, stream>>>(x, y, rows, cols);
}
