// task: full_max
__device__ float block_max(float best) {
  __shared__ float partial[8];
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = best;
  __syncthreads();
  for (int w = 0; w < 8; ++w) best = fmaxf(best, partial[w]);
  __syncthreads();
  return best;
}

__global__ void max_kernel(const float* __restrict__ x, float* partial, float* y, int n) {
  float best = -INFINITY;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) best = fmaxf(best, x[i]);
  best = block_max(best);
  if (threadIdx.x == 0) partial[blockIdx.x] = best;
}

__global__ void last_kernel(float* partial, float* y) {
  __syncthreads();
  float best = threadIdx.x < 16 ? partial[threadIdx.x] : -INFINITY;
  best = block_max(best);
  if (threadIdx.x == 0) y[0] = best;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  float* partial;
  cudaMallocAsync(&partial, 16 * sizeof(float), stream);
  max_kernel<<<16, 256, 0, stream>>>(x, partial, y, n);
  last_kernel<<<1, 256, 0, stream>>>(partial, y);
  cudaFreeAsync(partial, stream);
}
