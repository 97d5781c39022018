// One thread searches one column.
__global__ void col_max(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) {
    float best = x[col];
    for (int row = 1; row < rows; ++row) best = fmaxf(best, x[row * cols + col]);
    y[col] = best;
  }
}

#define BLOCK 128

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  col_max<<<(cols + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(x, y, rows, cols);
}
