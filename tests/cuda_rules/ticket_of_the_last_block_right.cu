// task: full_sum
// rule: the last block reads what the others stored before a fence and their ticket (CUDA C++ Programming Guide, "Memory Fence Functions")
// status: correct
// gpu: values
__global__ void sum_kernel(const float* __restrict__ x, float* partial, unsigned* ticket, float* y, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  unsigned before = 0;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    before = atomicAdd(ticket, 1u);
  }
  before = __shfl_sync(0xffffffffu, before, 0);
  if (before != gridDim.x - 1) return;
  __threadfence();
  sum = 0.0f;
  for (int b = threadIdx.x; b < gridDim.x; b += 32) sum += partial[b];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) y[0] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  float* partial;
  unsigned* ticket;
  cudaMallocAsync(&partial, 40 * sizeof(float), stream);
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  sum_kernel<<<40, 32, 0, stream>>>(x, partial, ticket, y, n);
  cudaFreeAsync(partial, stream);
  cudaFreeAsync(ticket, stream);
}
