// task: add_f16
#include <cuda_fp16.h>
#define HALF2(value) (reinterpret_cast<half2*>(&(value))[0])
#define LDST128BITS(value) (reinterpret_cast<float4*>(&(value))[0])
__global__ void add8(const half* a, const half* b, half* c, int N) {
  int idx = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (idx + 7 < N) {
    half pa[8], pb[8], pc[8];
    LDST128BITS(pa[0]) = *reinterpret_cast<const float4*>(a + idx);
    LDST128BITS(pb[0]) = *reinterpret_cast<const float4*>(b + idx);
#pragma unroll
    for (int i = 0; i < 8; i += 2) HALF2(pc[i]) = __hadd2(HALF2(pa[i]), HALF2(pb[i]));
    LDST128BITS(c[idx]) = LDST128BITS(pc[0]);
  } else {
    for (int i = idx; i < N; ++i) c[i] = __hadd(a[i], b[i]);
  }
}
extern "C" void launch(const __half* a, const __half* b, __half* c, int n, cudaStream_t stream) {
  add8<<<(n / 8 + 1 + 127) / 128, 128, 0, stream>>>(a, b, c, n);
}
