// task: add_f16
// honest: eight halves in one 16-byte access, grid-stride with 4096 blocks at most, the odd rest by the first block.
#include <cuda_fp16.h>

__global__ void __launch_bounds__(256) add_kernel(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                                  int n) {
  const int vectors = n / 8;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < vectors; i += gridDim.x * 256) {
    uint4 u = reinterpret_cast<const uint4*>(a)[i], v = reinterpret_cast<const uint4*>(b)[i], w;
    const __half2* x = reinterpret_cast<const __half2*>(&u);
    const __half2* y = reinterpret_cast<const __half2*>(&v);
    __half2* z = reinterpret_cast<__half2*>(&w);
#pragma unroll
    for (int e = 0; e < 4; ++e) z[e] = __hadd2(x[e], y[e]);
    reinterpret_cast<uint4*>(c)[i] = w;
  }
  if (blockIdx.x == 0 && threadIdx.x < n - vectors * 8) {
    const int i = vectors * 8 + threadIdx.x;
    c[i] = __hadd(a[i], b[i]);
  }
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int n, cudaStream_t stream) {
  const int wanted = (n / 8 + 255) / 256;
  add_kernel<<<wanted < 1 ? 1 : wanted < 4096 ? wanted : 4096, 256, 0, stream>>>(a, b, c, n);
}
