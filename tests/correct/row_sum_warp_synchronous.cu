// task: row_sum
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[128];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 128) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  __syncthreads();
  if (t < 64) values[t] += values[t + 64];
  __syncthreads();
  if (t < 32) {
    float total = values[t] + values[t + 32];
    for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffu, total, step);
    if (t == 0) values[0] = total;
  }
  if (t == 0) y[blockIdx.x] = values[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
