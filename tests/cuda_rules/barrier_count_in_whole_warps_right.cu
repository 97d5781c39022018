// task: row_sum
// rule: a barrier counts warps: the second warp of a block of 48 threads counts as 32 (PTX ISA 9.0, 9.7.13.1 "bar, barrier")
// status: correct
// gpu: values
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[48];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 48) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  const int threads = 64;
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
  if (t == 0) {
    for (int k = 1; k < 48; ++k) sum += values[k];
    y[blockIdx.x] = sum;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 48, 0, stream>>>(x, y, cols);
}
