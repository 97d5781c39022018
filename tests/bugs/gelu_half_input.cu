// task: gelu
// bug: the input is rounded to half on the way
// kind: reduced_precision
// status: wrong
#include <cuda_fp16.h>

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __half2float(__float2half(x[i]));  // BUG
  y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));  // BUG
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  gelu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
