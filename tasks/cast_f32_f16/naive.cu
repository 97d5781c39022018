#include <cuda_fp16.h>

// One thread converts one element.
__global__ void cast_to_half(const float* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(x[i]);
}

extern "C" void launch(const float* x, __half* y, int n, cudaStream_t stream) {
  int threads = 256;
  if (n < threads) threads = 32;
  int blocks = (n + threads - 1) / threads;
  cast_to_half<<<blocks, threads, 0, stream>>>(x, y, n);
}
