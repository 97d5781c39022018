// One thread computes the variance of one row: first the mean, then the squared differences from it.
__global__ void row_variance(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* line = x + row * cols;
  float sum = 0.0f;
  for (int col = 0; col < cols; ++col) sum += line[col];
  float mean = sum / cols;
  float squares = 0.0f;
  for (int col = 0; col < cols; ++col) {
    float d = line[col] - mean;
    squares += d * d;
  }
  y[row] = squares / (cols - 1);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int threads = 128;
  constexpr int round_up = threads - 1;
  row_variance<<<(rows + round_up) / threads, threads, 0, stream>>>(x, y, rows, cols);
}
