// task: row_sum
// bug: only the lower half of the threads reaches the barrier
// kind: barrier_divergence|barrier_deadlock
// status: fault|timeout
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[256];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += blockDim.x) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) {
      values[t] += values[t + half];
      __syncthreads();  // BUG
    }
  }
  if (t == 0) y[blockIdx.x] = values[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 256, 0, stream>>>(x, y, cols);
}
