#include <cuda_fp16.h>

// One thread adds one pair of elements in float and rounds once.
__global__ void add_half(const __half* a, const __half* b, __half* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = __float2half(__half2float(a[i]) + __half2float(b[i]));
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int n, cudaStream_t stream) {
  dim3 block(256);
  dim3 grid((n + block.x - 1) / block.x);
  add_half<<<grid, block, 0, stream>>>(a, b, c, n);
}
