// task: row_var
// bug: the squared deviations are divided by n instead of n - 1
// kind: wrong_result
// status: wrong
__global__ void row_var_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += in[c];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float mean = sum / cols;
  for (int c = threadIdx.x; c < cols; c += 32) squares += (in[c] - mean) * (in[c] - mean);
  for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, step);
  if (threadIdx.x == 0) y[row] = squares / cols;  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_var_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
