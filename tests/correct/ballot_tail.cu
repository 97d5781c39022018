// task: row_sum
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  const int lane = threadIdx.x;
  float total = 0.0f;
  for (int c = lane; __any_sync(0xffffffffu, c < cols); c += 32) {
    const unsigned mask = __ballot_sync(0xffffffffu, c < cols);
    if (c < cols) {
      float v = x[(size_t)blockIdx.x * cols + c];
      for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_down_sync(mask, v, step);
        if (lane + step < 32 && (mask >> (lane + step)) & 1) v += other;
      }
      if (lane == 0) total += v;
    }
  }
  if (lane == 0) y[blockIdx.x] = total;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 32, 0, stream>>>(x, y, cols);
}
