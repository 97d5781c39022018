// task: row_sum
// rule: warps that have returned are not waited for, but the others read what they never wrote (CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() waits for all non-exited threads of the block)
// status: fault
// kind: uninitialised_branch|uninitialised_output
// gpu: none
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float values[4][33];
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[(size_t)row * cols + c];
  values[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int k = 0; k < 32; ++k) total += values[threadIdx.y][k];
    float of_block = 0.0f;
    for (int w = 0; w < 4; ++w) of_block += values[w][0];
    y[row] = of_block > 1e30f ? 0.0f : total;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
