// task: row_sum
// One warp a row, eight rows a block, reduced by shuffles alone.
__global__ void row_sum_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[static_cast<size_t>(row) * cols + c];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) y[row] = sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(32, 8);
  row_sum_warp<<<(rows + block.y - 1) / block.y, block, 0, stream>>>(x, y, rows, cols);
}
