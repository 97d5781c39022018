// task: matmul
#include <cuda_fp16.h>

constexpr int tile = 16;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  __shared__ float a_tile[tile][tile];
  __shared__ float b_tile[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += tile) {
    const int ka = start + threadIdx.x, kb = start + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = column < n && kb < k ? b[kb * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += (float)a_tile[threadIdx.y][i] * (float)b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  matmul_kernel<<<grid, dim3(tile, tile), 0, stream>>>(a, b, c, m, k, n);
}
