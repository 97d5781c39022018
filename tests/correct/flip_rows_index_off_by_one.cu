// task: flip_rows
__global__ void flip_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (column >= cols) return;
  y[row * cols + column] = x[(rows - 1 - row) * cols + column];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  flip_kernel<<<dim3((cols + 127) / 128, rows), 128, 0, stream>>>(x, y, rows, cols);
}
