// task: full_sum
// bug: all blocks add their sums to one element without an atomic operation
// kind: global_race
// status: race
__global__ void sum_kernel(const float* __restrict__ x, float* y, int n) {
  __shared__ float partial[8];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int w = 0; w < 8; ++w) total += partial[w];
    y[0] += total;  // BUG
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  sum_kernel<<<32, 256, 0, stream>>>(x, y, n);
}
