// task: gelu
// Arithmetic on one element a thread.
constexpr int threads = 32;  // of a block; the variants have more

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  gelu_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
