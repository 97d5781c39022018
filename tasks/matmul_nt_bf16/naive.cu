#include <cuda_bf16.h>

// One thread computes one element of the product.
__global__ void matmul_transposed(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int k,
                                  int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[col * k + i]);
  }
  c[row * n + col] = __float2bfloat16(sum);
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int k, int n,
                       cudaStream_t stream) {
  constexpr unsigned tile = 16;
  const dim3 block(tile, tile);
  const dim3 grid((static_cast<unsigned>(m) + tile - 1) / tile, (static_cast<unsigned>(n) + tile - 1) / tile);
  matmul_transposed<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
}
