// task: row_sum_i32
// bug: all 32 lanes call the shuffle with a mask that names only the lower 16
// kind: warp_sync_mask|warp_sync_divergence
// status: fault
__global__ void row_sum_kernel(const int* __restrict__ x, int* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  int sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[row * cols + c];
  sum += __shfl_xor_sync(0x0000ffffu, sum, 16);  // BUG
  for (int step = 8; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[row] = sum;
}

extern "C" void launch(const int* x, int* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<(rows + 7) / 8, dim3(32, 8), 0, stream>>>(x, y, rows, cols);
}
