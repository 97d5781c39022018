// task: matmul_f16
// bug: the products are added up in half instead of float
// kind: reduced_precision|wrong_result
// status: wrong
#include <cuda_fp16.h>

__global__ void matmul_kernel(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, int m,
                              int k, int n) {
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row >= m || column >= n) return;
  __half sum = __float2half(0.0f);  // BUG
  for (int i = 0; i < k; ++i) sum = __hfma(a[(size_t)row * k + i], b[(size_t)i * n + column], sum);  // BUG
  c[(size_t)row * n + column] = sum;  // BUG
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int m, int k, int n, cudaStream_t stream) {
  matmul_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, k, n);
}
