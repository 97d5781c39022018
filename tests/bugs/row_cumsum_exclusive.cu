// task: row_cumsum
// bug: the running sum is stored before the element is added to it
// kind: wrong_result
// status: wrong
__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float before = 0.0f;
  for (int start = 0; start < cols; start += 32) {
    const int c = start + lane;
    float own = c < cols ? x[row * cols + c] : 0.0f;
    float sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const float left = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += left;
    }
    if (c < cols) y[row * cols + c] = before + sum - own;  // BUG
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cumsum_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
