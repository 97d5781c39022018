// A 32 x 32 tile in shared memory, two barriers a round.
#include <cstdint>

constexpr int kTile = 32;

__global__ void __launch_bounds__(kTile * kTile)
    matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < k; first += kTile) {
    tile_a[threadIdx.y][threadIdx.x] =
        row < m && first + threadIdx.x < k ? a[row * k + first + threadIdx.x] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] =
        first + threadIdx.y < k && col < n ? b[(first + threadIdx.y) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 block(kTile, kTile);
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul<<<grid, block, 0, stream>>>(a, b, c, m, k, n);
  if (cudaGetLastError() != cudaSuccess) return;
}
