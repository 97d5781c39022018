// task: full_sum
// bug: a signed 16-bit index becomes negative after 32767 elements
// kind: out_of_bounds
// status: fault
__global__ void sum_kernel(const float* __restrict__ x, float* y, int n) {
  const short i = static_cast<short>(blockIdx.x * blockDim.x + threadIdx.x);
  float sum = i < n ? x[i] : 0.0f;  // BUG
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  sum_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
