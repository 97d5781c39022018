// task: row_cumsum
// bug: a block continues the sum that its left neighbour is still to write
// kind: global_race|uninitialised_output
// status: race|fault
__global__ void cumsum_kernel(const float* __restrict__ x, float* y, int cols) {
  const int lane = threadIdx.x;
  const int start = blockIdx.x * 32;
  const int c = start + lane;
  const size_t row = (size_t)blockIdx.y * cols;
  float sum = c < cols ? x[row + c] : 0.0f;
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += left;
  }
  const float before = start > 0 ? y[row + start - 1] : 0.0f;  // BUG
  if (c < cols) y[row + c] = before + sum;  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cumsum_kernel<<<dim3((cols + 31) / 32, rows), 32, 0, stream>>>(x, y, cols);
}
