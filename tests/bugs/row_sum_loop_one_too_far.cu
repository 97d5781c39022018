// task: row_sum
// bug: the loop over the columns runs one column too far, into the next row and, in the last row, out of the array
// kind: out_of_bounds
// status: fault
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = lane; c <= cols; c += 32) sum += x[(size_t)row * cols + c];  // BUG
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
