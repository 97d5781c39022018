// task: flip_rows
// bug: the rows are copied to the output and swapped there by other blocks of the same kernel
// kind: global_race|uninitialised_output
// status: race|fault
__global__ void flip_kernel(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (c >= cols) return;
  y[row * cols + c] = x[row * cols + c];  // BUG
  if (row < rows / 2) {
    const float low = y[row * cols + c];
    y[row * cols + c] = y[(rows - 1 - row) * cols + c];  // BUG
    y[(rows - 1 - row) * cols + c] = low;                // BUG
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  flip_kernel<<<dim3((cols + 127) / 128, rows), 128, 0, stream>>>(x, y, rows, cols);
}
