// task: matmul_f16
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void g(const half* A, const half* B, half* C, int M, int K, int N) {
  int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
  if (r >= M || c >= N) return;
  float s = 0.f;
  for (int k = 0; k < K; ++k) s += __half2float(A[r * K + k]) * __half2float(B[k * N + c]);
  C[r * N + c] = __float2half_rn(s);
}
extern "C" void launch(const __half* a, const __half* b, __half* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 tpb{16, 16};
  const dim3 bpg{static_cast<unsigned int>((n + 15) / 16), static_cast<unsigned int>((m + 15) / 16)};
  g<<<bpg, tpb, 0, stream>>>(a, b, c, m, k, n);
}
