// task: matmul
// honest: 132 persistent blocks take tiles of 96 x 96 in turn; slices of 8 of k through shared memory, full slices unguarded.
constexpr int tile = 96;
constexpr int depth = 8;
constexpr int threads = 256;
constexpr int each = 6;

__global__ void __launch_bounds__(threads) matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                                         int m, int k, int n) {
  __shared__ float a_tile[depth][tile + 4];
  __shared__ float b_tile[depth][tile];
  const int across = (n + tile - 1) / tile;
  const int tiles = across * ((m + tile - 1) / tile);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile, col0 = t % across * tile;
    const bool inside = row0 + tile <= m && col0 + tile <= n;
    float sum[each][each] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
      if (inside && k0 + depth <= k) {
#pragma unroll
        for (int e = 0; e < tile * depth / threads; ++e) {
          const int i = e * threads + threadIdx.x;
          a_tile[i % depth][i / depth] = a[(size_t)(row0 + i / depth) * k + k0 + i % depth];
          b_tile[i / tile][i % tile] = b[(size_t)(k0 + i / tile) * n + col0 + i % tile];
        }
      } else {
        for (int i = threadIdx.x; i < tile * depth; i += threads) {
          const int ar = row0 + i / depth, ak = k0 + i % depth;
          a_tile[i % depth][i / depth] = ar < m && ak < k ? a[(size_t)ar * k + ak] : 0.0f;
          const int bk = k0 + i / tile, bc = col0 + i % tile;
          b_tile[i / tile][i % tile] = bk < k && bc < n ? b[(size_t)bk * n + bc] : 0.0f;
        }
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        float left[each], right[each];
#pragma unroll
        for (int i = 0; i < each; ++i) left[i] = a_tile[d][ty + 16 * i];
#pragma unroll
        for (int j = 0; j < each; ++j) right[j] = b_tile[d][tx + 16 * j];
#pragma unroll
        for (int i = 0; i < each; ++i) {
#pragma unroll
          for (int j = 0; j < each; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int j = 0; j < each; ++j) {
        const int row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
        if (row < m && col < n) c[(size_t)row * n + col] = sum[i][j];
      }
    }
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  const int tiles = ((m + tile - 1) / tile) * ((n + tile - 1) / tile);
  matmul_kernel<<<tiles < 132 ? tiles : 132, threads, 0, stream>>>(a, b, c, m, k, n);
}
