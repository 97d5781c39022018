// task: transpose
// bug: a block of 64 x 32 threads has 2048 threads, twice what a GPU allows
// kind: launcher_error|launch_error
// status: launcher_error
__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(64, 32);  // BUG
  const dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  transpose_kernel<<<grid, block, 0, stream>>>(x, y, rows, cols);  // BUG
}
