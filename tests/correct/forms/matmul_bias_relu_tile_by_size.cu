// task: matmul_bias_relu
// honest: a template of tile sizes 32, 64 and 128, the largest one that still gives at least 64 blocks.
template <int Tile>
__global__ void __launch_bounds__(256) multiply(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
                                                float* __restrict__ c, int m, int k, int n) {
  constexpr int depth = 8, each = Tile / 16;
  __shared__ float a_tile[depth][Tile + 1];
  __shared__ float b_tile[depth][Tile];
  const int row0 = blockIdx.y * Tile, col0 = blockIdx.x * Tile, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sum[each][each] = {};
  for (int k0 = 0; k0 < k; k0 += depth) {
#pragma unroll
    for (int i = threadIdx.x; i < Tile * depth; i += 256) {
      const int row = row0 + i / depth, ak = k0 + i % depth, bk = k0 + i / Tile, col = col0 + i % Tile;
      a_tile[i % depth][i / depth] = row < m && ak < k ? a[(size_t)row * k + ak] : 0.0f;
      b_tile[i / Tile][i % Tile] = bk < k && col < n ? b[(size_t)bk * n + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      float left[each], right[each];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        left[i] = a_tile[d][ty + 16 * i];
        right[i] = b_tile[d][tx + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < each; ++i) {
#pragma unroll
        for (int j = 0; j < each; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const int col = col0 + tx + 16 * j;
    if (col >= n) continue;
    const float shift = bias[col];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = row0 + ty + 16 * i;
      if (row < m) c[(size_t)row * n + col] = fmaxf(sum[i][j] + shift, 0.0f);
    }
  }
}

extern "C" void launch(const float* a, const float* b, const float* bias, float* c, int m, int k, int n, cudaStream_t stream) {
  const dim3 large((n + 127) / 128, (m + 127) / 128), middle((n + 63) / 64, (m + 63) / 64), little((n + 31) / 32, (m + 31) / 32);
  if (large.x * large.y >= 64) {
    multiply<128><<<large, 256, 0, stream>>>(a, b, bias, c, m, k, n);
  } else if (middle.x * middle.y >= 64) {
    multiply<64><<<middle, 256, 0, stream>>>(a, b, bias, c, m, k, n);
  } else {
    multiply<32><<<little, 256, 0, stream>>>(a, b, bias, c, m, k, n);
  }
}
