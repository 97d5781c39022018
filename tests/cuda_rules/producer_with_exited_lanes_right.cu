// task: row_sum
// rule: a producer warp arrives as a whole, also when lanes without work have exited (PTX ISA 9.0, 9.7.13.1 "bar, barrier")
// status: correct
// gpu: values
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[64];
  const int t = threadIdx.x;
  const int lane = t % 32;
  if (t < 64) {
    if (lane >= 20) return;
    float sum = 0.0f;
    for (int c = t / 32 * 20 + lane; c < cols; c += 40) sum += x[(size_t)blockIdx.x * cols + c];
    values[t] = sum;
    asm volatile("bar.arrive 1, 96;" ::: "memory");
    return;
  }
  asm volatile("bar.sync 1, 96;" ::: "memory");
  float sum = lane < 20 ? values[lane] + values[lane + 32] : 0.0f;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 96, 0, stream>>>(x, y, cols);
}
