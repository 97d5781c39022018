// task: tanh_f16
// honest: one wave of 132 * 16 blocks of 128 threads strides over groups of eight halves, four groups at a time while they last.
#include <cuda_fp16.h>

__device__ __forceinline__ uint4 tanh8(uint4 packed) {
  __half2* h = reinterpret_cast<__half2*>(&packed);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    const float2 f = __half22float2(h[e]);
    h[e] = __floats2half2_rn(tanhf(f.x), tanhf(f.y));
  }
  return packed;
}

__global__ void __launch_bounds__(128) tanh_kernel(const __half* __restrict__ x, __half* __restrict__ y, int n) {
  const uint4* from = reinterpret_cast<const uint4*>(x);
  uint4* to = reinterpret_cast<uint4*>(y);
  const int groups = n / 8, stride = gridDim.x * 128, self = blockIdx.x * 128 + threadIdx.x;
  int i = self;
  for (; i + 3 * stride < groups; i += 4 * stride) {
    uint4 g[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) g[e] = from[i + e * stride];
#pragma unroll
    for (int e = 0; e < 4; ++e) to[i + e * stride] = tanh8(g[e]);
  }
  for (; i < groups; i += stride) to[i] = tanh8(from[i]);
  if (self < n % 8) y[groups * 8 + self] = __float2half(tanhf(__half2float(x[groups * 8 + self])));
}

extern "C" void launch(const __half* x, __half* y, int n, cudaStream_t stream) {
  int blocks = (n + 1023) / 1024;
  if (blocks > 132 * 16) blocks = 132 * 16;
  tanh_kernel<<<blocks, 128, 0, stream>>>(x, y, n);
}
