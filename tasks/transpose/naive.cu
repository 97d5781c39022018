// One thread moves one element.
__global__ void transpose(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 block(16, 16);
  dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  transpose<<<grid, block, 0, stream>>>(x, y, rows, cols);
}
