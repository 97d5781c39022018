// One thread searches one row.
__global__ void row_argmax(const float* x, int* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* line = x + row * cols;
  int best = 0;
  for (int col = 1; col < cols; ++col) {
    if (line[col] > line[best]) best = col;
  }
  y[row] = best;
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  const unsigned threads = 64;
  const dim3 grid((static_cast<unsigned>(rows) + threads - 1) / threads);
  row_argmax<<<grid, threads, 0, stream>>>(x, y, rows, cols);
}
