#include <cuda_fp16.h>

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

// One thread computes one output element.
__global__ void linear_gelu(const __half* a, const __half* b, const __half* bias, __half* c, int m, int k, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = __half2float(bias[col]);
  for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[i * n + col]);
  c[row * n + col] = __float2half(gelu(sum));
}

extern "C" void launch(const __half* a, const __half* b, const __half* bias, __half* c, int m, int k, int n,
                       cudaStream_t stream) {
  const dim3 block(32, 4);
  dim3 grid;
  grid.x = (n + block.x - 1) / block.x;
  grid.y = (m + block.y - 1) / block.y;
  linear_gelu<<<grid, block, 0, stream>>>(a, b, bias, c, m, k, n);
}
