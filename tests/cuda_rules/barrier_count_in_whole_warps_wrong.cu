// task: row_sum
// rule: the number of threads of a barrier must be a multiple of the warp size (PTX ISA 9.0, 9.7.13.1 "bar, barrier")
// status: fault|timeout
// kind: barrier_divergence|barrier_deadlock
// gpu: none
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[48];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 48) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  const int threads = 48;
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
  if (t == 0) {
    for (int k = 1; k < 48; ++k) sum += values[k];
    y[blockIdx.x] = sum;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 48, 0, stream>>>(x, y, cols);
}
