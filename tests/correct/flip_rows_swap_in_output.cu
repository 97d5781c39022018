// task: flip_rows
__global__ void flip_kernel(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (c >= cols) return;
  if (row < (rows + 1) / 2) {
    const float low = x[row * cols + c];
    y[row * cols + c] = x[(rows - 1 - row) * cols + c];
    y[(rows - 1 - row) * cols + c] = low;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  flip_kernel<<<dim3((cols + 127) / 128, rows), 128, 0, stream>>>(x, y, rows, cols);
}
