// One thread limits one whole number.
__global__ void clamp(const int* x, int lo, int hi, int* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  int v = x[row * cols + col];
  if (v < lo) v = lo;
  if (v > hi) v = hi;
  y[row * cols + col] = v;
}

extern "C" void launch(const int* x, int lo, int hi, int* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(64, 4);
  const dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  clamp<<<grid, block, 0, stream>>>(x, lo, hi, y, rows, cols);
}
