// task: full_max
// bug: the butterfly stops at distance 4, so three of four lanes never reach lane 0
// kind: wrong_result
// status: wrong
__global__ void block_max(const float* __restrict__ x, float* __restrict__ result, int n) {
  __shared__ float partial[8];
  float best = -INFINITY;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) best = fmaxf(best, x[i]);
  for (int step = 16; step > 2; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));  // BUG
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) best = fmaxf(best, partial[w]);
    result[blockIdx.x] = best;  // BUG
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int blocks = 64;
  float* partial;
  cudaMallocAsync(&partial, blocks * sizeof(float), stream);
  block_max<<<blocks, 256, 0, stream>>>(x, partial, n);
  block_max<<<1, 256, 0, stream>>>(partial, y, blocks);
  cudaFreeAsync(partial, stream);
}
