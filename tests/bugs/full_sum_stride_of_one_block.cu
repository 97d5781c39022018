// task: full_sum
// bug: the loop's stride is one block instead of the whole grid, so elements are added several times
// kind: wrong_result
// status: wrong
__global__ void sum_kernel(const float* __restrict__ x, float* y, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) sum += x[i];  // BUG
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);  // BUG
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  sum_kernel<<<20, 256, 0, stream>>>(x, y, n);
}
