// task: col_max
__global__ void col_max_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float best = x[c];
  for (int r = 0; r < rows; ++r) best = fmaxf(best, x[(size_t)r * cols + c]);
  y[c] = best;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  col_max_kernel<<<(cols + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
}
