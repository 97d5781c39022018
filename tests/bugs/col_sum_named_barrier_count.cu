// task: col_sum
// bug: the named barrier waits for 256 threads, but only the 128 consumers take part in it
// kind: barrier_deadlock|barrier_divergence
// status: timeout|fault
__global__ void col_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float values[8][32];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (column < cols)
    for (int r = threadIdx.y; r < rows; r += 8) sum += x[(size_t)r * cols + column];
  values[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y < 4) {
    values[threadIdx.y][threadIdx.x] += values[threadIdx.y + 4][threadIdx.x];
    asm volatile("bar.sync 1, 256;" ::: "memory");  // BUG
    if (threadIdx.y == 0 && column < cols)
      y[column] = values[0][threadIdx.x] + values[1][threadIdx.x] + values[2][threadIdx.x] + values[3][threadIdx.x];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  col_sum_kernel<<<(cols + 31) / 32, dim3(32, 8), 0, stream>>>(x, y, rows, cols);
}
