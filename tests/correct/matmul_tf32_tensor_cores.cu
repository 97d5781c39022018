// task: matmul
#include <mma.h>

using namespace nvcuda;

__global__ void matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m,
                              int k, int n) {
  __shared__ float a_tile[16 * 8];
  __shared__ float b_tile[8 * 16];
  __shared__ float c_tile[16 * 16];
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int i = threadIdx.x; i < 256; i += 32) c_tile[i] = 0.0f;
  for (int start = 0; start < k; start += 8) {
    for (int i = threadIdx.x; i < 128; i += 32) {
      const int r = row + i / 8, ka = start + i % 8;
      a_tile[i] = r < m && ka < k ? a[(size_t)r * k + ka] : 0.0f;
      const int kb = start + i / 16, cc = column + i % 16;
      b_tile[i] = cc < n && kb < k ? b[(size_t)kb * n + cc] : 0.0f;
    }
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32)
      for (int j = 0; j < 8; ++j) c_tile[i] += a_tile[i / 16 * 8 + j] * b_tile[j * 16 + i % 16];
    __syncwarp();
  }
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) {
    const int r = row + i / 16, cc = column + i % 16;
    if (r < m && cc < n) c[(size_t)r * n + cc] = c_tile[i];
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  matmul_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), 32, 0, stream>>>(a, b, c, m, k, n);
}
