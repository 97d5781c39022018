// task: full_sum
// bug: the last block waits until the counter equals the number of blocks, but does not count itself
// kind: endless_loop|barrier_deadlock
// status: timeout
__global__ void sum_kernel(const float* __restrict__ x, volatile float* partial, int* counter, float* y, int n) {
  __shared__ float values[128];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  values[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 128; ++t) sum += values[t];
  partial[blockIdx.x] = sum;
  __threadfence();
  if (blockIdx.x != gridDim.x - 1) {
    atomicAdd(counter, 1);
    return;
  }
  while (atomicAdd(counter, 0) < gridDim.x) {  // BUG
  }  // BUG
  __threadfence();
  float total = 0.0f;
  for (int b = 0; b < gridDim.x; ++b) total += partial[b];
  y[0] = total;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int blocks = 8;
  float* partial;
  int* counter;
  cudaMallocAsync(&partial, blocks * sizeof(float), stream);
  cudaMallocAsync(&counter, sizeof(int), stream);
  cudaMemsetAsync(counter, 0, sizeof(int), stream);
  sum_kernel<<<blocks, 128, 0, stream>>>(x, partial, counter, y, n);
  cudaFreeAsync(partial, stream);
  cudaFreeAsync(counter, stream);
}
