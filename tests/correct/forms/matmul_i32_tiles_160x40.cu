// task: matmul_i32
// honest: tiles of 160 x 40 by 200 threads with 8 x 4 sums each, at most 264 blocks that take every 264th tile.
constexpr int tile_m = 160, tile_n = 40, depth = 10, threads = 200;

__global__ void __launch_bounds__(threads) multiply(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c, int m, int k,
                                                    int n) {
  __shared__ int a_tile[depth][tile_m + 1];
  __shared__ int b_tile[depth][tile_n];
  const int across = (n + tile_n - 1) / tile_n, tiles = across * ((m + tile_m - 1) / tile_m);
  const int tx = threadIdx.x % 10, ty = threadIdx.x / 10;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile_m, col0 = t % across * tile_n;
    int sum[8][4] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
#pragma unroll
      for (int e = 0; e < tile_m * depth / threads; ++e) {
        const int i = e * threads + threadIdx.x, row = row0 + i / depth, at = k0 + i % depth;
        a_tile[i % depth][i / depth] = row < m && at < k ? a[(size_t)row * k + at] : 0;
      }
#pragma unroll
      for (int e = 0; e < tile_n * depth / threads; ++e) {
        const int i = e * threads + threadIdx.x, at = k0 + i / tile_n, col = col0 + i % tile_n;
        b_tile[i / tile_n][i % tile_n] = at < k && col < n ? b[(size_t)at * n + col] : 0;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        int left[8], right[4];
#pragma unroll
        for (int i = 0; i < 8; ++i) left[i] = a_tile[d][ty + 20 * i];
#pragma unroll
        for (int j = 0; j < 4; ++j) right[j] = b_tile[d][tx + 10 * j];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = row0 + ty + 20 * i, col = col0 + tx + 10 * j;
        if (row < m && col < n) c[(size_t)row * n + col] = sum[i][j];
      }
    }
  }
}

extern "C" void launch(const int* a, const int* b, int* c, int m, int k, int n, cudaStream_t stream) {
  const int tiles = ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n);
  multiply<<<min(tiles, 264), threads, 0, stream>>>(a, b, c, m, k, n);
}
