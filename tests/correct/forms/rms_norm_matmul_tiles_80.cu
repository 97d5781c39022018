// task: rms_norm_matmul
// honest: one warp a row writes the scales to scratch, then 80 x 80 tiles with 5 x 5 sums a thread on 132 persistent blocks.
constexpr int tile = 80, depth = 8, threads = 256;

__global__ void __launch_bounds__(256) row_scales(const float* __restrict__ x, float* __restrict__ scale, int m, int k) {
  const int lane = threadIdx.x % 32;
  for (int row = blockIdx.x * 8 + threadIdx.x / 32; row < m; row += gridDim.x * 8) {
    float sum = 0.0f;
    for (int i = lane; i < k; i += 32) {
      const float value = x[(size_t)row * k + i];
      sum = fmaf(value, value, sum);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) scale[row] = rsqrtf(sum / k + 1e-6f);
  }
}

__global__ void __launch_bounds__(threads) multiply(const float* __restrict__ x, const float* __restrict__ gain,
                                                    const float* __restrict__ weight, const float* __restrict__ scale,
                                                    float* __restrict__ y, int m, int k, int n) {
  __shared__ float a_tile[depth][tile + 1];
  __shared__ float b_tile[depth][tile];
  const int across = (n + tile - 1) / tile, tiles = across * ((m + tile - 1) / tile), tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile, col0 = t % across * tile;
    float sum[5][5] = {};
    for (int k0 = 0; k0 < k; k0 += depth) {
      for (int i = threadIdx.x; i < tile * depth; i += threads) {
        const int row = row0 + i / depth, at = k0 + i % depth, from = k0 + i / tile, col = col0 + i % tile;
        a_tile[i % depth][i / depth] = row < m && at < k ? x[(size_t)row * k + at] : 0.0f;
        b_tile[i / tile][i % tile] = from < k && col < n ? weight[(size_t)from * n + col] * gain[from] : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
        float left[5], right[5];
#pragma unroll
        for (int i = 0; i < 5; ++i) {
          left[i] = a_tile[d][ty + 16 * i];
          right[i] = b_tile[d][tx + 16 * i];
        }
#pragma unroll
        for (int i = 0; i < 25; ++i) sum[i / 5][i % 5] = fmaf(left[i / 5], right[i % 5], sum[i / 5][i % 5]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      const int row = row0 + ty + 16 * i;
      if (row >= m) break;
      const float s = scale[row];
#pragma unroll
      for (int j = 0; j < 5; ++j) {
        const int col = col0 + tx + 16 * j;
        if (col < n) y[(size_t)row * n + col] = sum[i][j] * s;
      }
    }
  }
}

extern "C" void launch(const float* x, const float* gain, const float* weight, float* y, int m, int k, int n, cudaStream_t stream) {
  const int tiles = ((m + tile - 1) / tile) * ((n + tile - 1) / tile), groups = (m + 7) / 8;
  float* scale;
  cudaMallocAsync(&scale, m * sizeof(float), stream);
  row_scales<<<groups < 264 ? groups : 264, 256, 0, stream>>>(x, scale, m, k);
  multiply<<<tiles < 132 ? tiles : 132, threads, 0, stream>>>(x, gain, weight, scale, y, m, k, n);
  cudaFreeAsync(scale, stream);
}
