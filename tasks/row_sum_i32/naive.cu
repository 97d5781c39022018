// One thread adds up one row of whole numbers.
__global__ void sum_rows(const int* x, int* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    int sum = 0;
    for (int col = 0; col < cols; col++) {
      sum += x[row * cols + col];
    }
    y[row] = sum;
  }
}

inline int div_up(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const int* x, int* y, int rows, int cols, cudaStream_t stream) {
  const int block = 256;
  sum_rows<<<div_up(rows, block), block, 0, stream>>>(x, y, rows, cols);
}
