// task: matmul_dequant_int8
// honest: 48 x 80 tiles by 240 threads, two shared buffers with one barrier a slice, 132 persistent blocks; scales applied at the end.
constexpr int tile_m = 48, tile_n = 80, depth = 15, threads = 240;

__global__ void __launch_bounds__(threads) multiply(const float* __restrict__ x, const signed char* __restrict__ weight,
                                                    const float* __restrict__ scale, float* __restrict__ y, int m, int k, int n) {
  __shared__ float x_tile[2][depth][tile_m + 1];
  __shared__ float w_tile[2][depth][tile_n + 1];
  const int across = (n + tile_n - 1) / tile_n, tiles = across * ((m + tile_m - 1) / tile_m);
  const int tx = threadIdx.x % 20, ty = threadIdx.x / 20, steps = (k + depth - 1) / depth;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile_m, col0 = t % across * tile_n;
    float sum[4][4] = {};
    for (int step = 0; step <= steps; ++step) {
      if (step < steps) {
        const int at = step * depth + threadIdx.x % depth, line = threadIdx.x / depth;
#pragma unroll
        for (int e = 0; e < tile_m / 16; ++e) {
          const int row = row0 + line + 16 * e;
          x_tile[step % 2][threadIdx.x % depth][line + 16 * e] = row < m && at < k ? x[(size_t)row * k + at] : 0.0f;
        }
#pragma unroll
        for (int e = 0; e < tile_n / 16; ++e) {
          const int col = col0 + line + 16 * e;
          w_tile[step % 2][threadIdx.x % depth][line + 16 * e] = col < n && at < k ? (float)weight[(size_t)col * k + at] : 0.0f;
        }
      }
      if (step > 0) {
#pragma unroll
        for (int d = 0; d < depth; ++d) {
          float left[4], right[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            left[i] = x_tile[(step - 1) % 2][d][ty + 12 * i];
            right[i] = w_tile[(step - 1) % 2][d][tx + 20 * i];
          }
#pragma unroll
          for (int i = 0; i < 16; ++i) sum[i / 4][i % 4] = fmaf(left[i / 4], right[i % 4], sum[i / 4][i % 4]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int col = col0 + tx + 20 * j;
      if (col >= n) break;
      const float s = scale[col];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = row0 + ty + 12 * i;
        if (row < m) y[(size_t)row * n + col] = sum[i][j] * s;
      }
    }
  }
}

extern "C" void launch(const float* x, const signed char* weight, const float* scale, float* y, int m, int k, int n,
                       cudaStream_t stream) {
  const int tiles = ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n);
  multiply<<<tiles < 132 ? tiles : 132, threads, 0, stream>>>(x, weight, scale, y, m, k, n);
}
