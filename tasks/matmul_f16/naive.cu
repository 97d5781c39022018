#include <cuda_fp16.h>

// One thread computes one element of the product.
__global__ void matmul_half(const __half* a, const __half* b, __half* c, int m, int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < m && col < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) {
      sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
    }
    c[row * n + col] = __float2half(sum);
  }
}

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

extern "C" void launch(const __half* a, const __half* b, __half* c, int m, int k, int n, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid(CEIL_DIV(n, 32), CEIL_DIV(m, 8));
  matmul_half<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
}
