// One thread searches one column.
__global__ void col_argmin(const float* x, int* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float least = x[col];
  int where = 0;
  for (int row = 1; row < rows; ++row) {
    float v = x[row * cols + col];
    if (v < least) {
      least = v;
      where = row;
    }
  }
  y[col] = where;
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  int threads = 256;
  while (threads > 32 && threads > cols) threads /= 2;
  col_argmin<<<(cols + threads - 1) / threads, threads, 0, stream>>>(x, y, rows, cols);
}
