// task: mlp
// honest: both layers by one template with 64 x 48 tiles on at most 264 blocks; the hidden values lie in scratch between the launches.
constexpr int tile_m = 64, tile_n = 48, depth = 12, threads = 256;

template <bool Gelu>
__global__ void __launch_bounds__(threads) layer(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
                                                 float* __restrict__ c, int m, int k, int n) {
  __shared__ float a_tile[depth][tile_m + 1];
  __shared__ float b_tile[depth][tile_n + 1];
  const int across = (n + tile_n - 1) / tile_n, tiles = across * ((m + tile_m - 1) / tile_m);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile_m, col0 = t % across * tile_n;
    float sum[4][3] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
      for (int i = threadIdx.x; i < tile_m * depth; i += threads) {
        const int row = row0 + i / depth, at = k0 + i % depth;
        a_tile[i % depth][i / depth] = row < m && at < k ? a[(size_t)row * k + at] : 0.0f;
      }
      for (int i = threadIdx.x; i < tile_n * depth; i += threads) {
        const int at = k0 + i / tile_n, col = col0 + i % tile_n;
        b_tile[i / tile_n][i % tile_n] = at < k && col < n ? b[(size_t)at * n + col] : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        float left[4], right[3];
#pragma unroll
        for (int i = 0; i < 4; ++i) left[i] = a_tile[d][ty + 16 * i];
#pragma unroll
        for (int j = 0; j < 3; ++j) right[j] = b_tile[d][tx + 16 * j];
#pragma unroll
        for (int i = 0; i < 12; ++i) sum[i / 3][i % 3] = fmaf(left[i / 3], right[i % 3], sum[i / 3][i % 3]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 12; ++i) {
      const int row = row0 + ty + 16 * (i / 3), col = col0 + tx + 16 * (i % 3);
      if (row < m && col < n) {
        float value = sum[i / 3][i % 3] + bias[col];
        if (Gelu) value = 0.5f * value * (1.0f + erff(value * 0.70710678118654752f));
        c[(size_t)row * n + col] = value;
      }
    }
  }
}

extern "C" void launch(const float* x, const float* w1, const float* b1, const float* w2, const float* b2, float* y, int rows, int dim,
                       int hidden, cudaStream_t stream) {
  const int down = (rows + tile_m - 1) / tile_m;
  const int first = down * ((hidden + tile_n - 1) / tile_n), second = down * ((dim + tile_n - 1) / tile_n);
  float* h;
  cudaMallocAsync(&h, (size_t)rows * hidden * sizeof(float), stream);
  layer<true><<<first < 264 ? first : 264, threads, 0, stream>>>(x, w1, b1, h, rows, dim, hidden);
  layer<false><<<second < 264 ? second : 264, threads, 0, stream>>>(h, w2, b2, y, rows, hidden, dim);
  cudaFreeAsync(h, stream);
}
