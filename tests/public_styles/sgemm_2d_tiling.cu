// task: matmul
#include <cuda_runtime.h>
#include <cassert>
#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN), 1)
    sgemm2D(int M, int N, int K, const float* A, const float* B, float* C) {
  const uint cRow = blockIdx.y;
  const uint cCol = blockIdx.x;
  const uint numThreads = BM * BN / (TM * TN);
  const int threadCol = threadIdx.x % (BN / TN);
  const int threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const uint innerRowA = threadIdx.x / BK;
  const uint innerColA = threadIdx.x % BK;
  const uint strideA = numThreads / BK;
  const uint innerRowB = threadIdx.x / BN;
  const uint innerColB = threadIdx.x % BN;
  const uint strideB = numThreads / BN;
  float threadResults[TM * TN] = {0.0};
  float regM[TM] = {0.0};
  float regN[TN] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    for (uint o = 0; o < BM; o += strideA) {
      uint r = cRow * BM + innerRowA + o, c = bk + innerColA;
      As[(innerRowA + o) * BK + innerColA] = r < M && c < K ? A[r * K + c] : 0.f;
    }
    for (uint o = 0; o < BK; o += strideB) {
      uint r = bk + innerRowB + o, c = cCol * BN + innerColB;
      Bs[(innerRowB + o) * BN + innerColB] = r < K && c < N ? B[r * N + c] : 0.f;
    }
    __syncthreads();
    for (uint d = 0; d < BK; ++d) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + d];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[d * BN + threadCol * TN + i];
      for (uint i = 0; i < TM; ++i)
        for (uint j = 0; j < TN; ++j) threadResults[i * TN + j] += regM[i] * regN[j];
    }
    __syncthreads();
  }
  for (uint i = 0; i < TM; ++i)
    for (uint j = 0; j < TN; ++j) {
      uint r = cRow * BM + threadRow * TM + i, c = cCol * BN + threadCol * TN + j;
      if (r < M && c < N) C[r * N + c] = threadResults[i * TN + j];
    }
}
extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const uint BK = 8;
  const uint TM = 8;
  const uint TN = 8;
  if (m >= 128 and n >= 128) {
    const uint BM = 128;
    const uint BN = 128;
    dim3 gridDim(CEIL_DIV(n, BN), CEIL_DIV(m, BM));
    dim3 blockDim((BM * BN) / (TM * TN));
    sgemm2D<BM, BN, BK, TM, TN><<<gridDim, blockDim, 0, stream>>>(m, n, k, a, b, c);
  } else {
    const uint BM = 64;
    const uint BN = 64;
    dim3 gridDim(CEIL_DIV(n, BN), CEIL_DIV(m, BM));
    dim3 blockDim((BM * BN) / (TM * TN));
    sgemm2D<BM, BN, BK, TM, TN><<<gridDim, blockDim, 0, stream>>>(m, n, k, a, b, c);
  }
}
