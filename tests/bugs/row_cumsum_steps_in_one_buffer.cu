// task: row_cumsum
// bug: the launcher passes the same buffer as source and target, although threads read their neighbours' elements
// kind: global_race
// status: race
__global__ void step_kernel(const float* from, float* to, int cols, int step) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t row = (size_t)blockIdx.y * cols;
  if (c >= cols) return;
  const float own = from[row + c];
  to[row + c] = c >= step ? own + from[row + c - step] : own;  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + 63) / 64, rows);
  const size_t bytes = (size_t)rows * cols * sizeof(float);
  float* other;
  cudaMallocAsync(&other, bytes, stream);
  const float* from = x;
  int steps = 0;
  for (int step = 1; step < cols; step *= 2) ++steps;
  step_kernel<<<grid, 64, 0, stream>>>(from, y, cols, 1);
  for (int step = 2; step < cols; step *= 2) step_kernel<<<grid, 64, 0, stream>>>(y, y, cols, step);
  cudaFreeAsync(other, stream);
}
