// One thread computes the norm of one row.
__global__ void row_norm(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float squares = 0.0f;
  for (int col = 0; col < cols; ++col) {
    float v = x[row * cols + col];
    squares += v * v;
  }
  y[row] = sqrtf(squares);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 block(128, 1, 1);
  dim3 grid((rows + 127) / 128, 1, 1);
  row_norm<<<grid, block, 0, stream>>>(x, y, rows, cols);
}
