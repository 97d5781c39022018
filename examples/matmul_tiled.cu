// task: matmul
// 64 x 64 tiles of the result, 4 x 4 elements a thread in registers, 16-deep slices of both factors in shared memory.
template <int tile, int depth, int per_thread>
__global__ void __launch_bounds__((tile / per_thread) * (tile / per_thread))
    matmul_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float left[depth][tile + 4];
  __shared__ float right[depth][tile];
  constexpr int side = tile / per_thread;
  constexpr int threads = side * side;
  const int tid = threadIdx.y * side + threadIdx.x;
  const int row_base = blockIdx.y * tile;
  const int col_base = blockIdx.x * tile;
  float sum[per_thread][per_thread] = {};

  for (int start = 0; start < k; start += depth) {
    for (int i = tid; i < tile * depth; i += threads) {
      const int r = row_base + i / depth, d = start + i % depth;
      left[i % depth][i / depth] = r < m && d < k ? a[r * k + d] : 0.0f;
      const int e = start + i / tile, col = col_base + i % tile;
      right[i / tile][i % tile] = e < k && col < n ? b[e * n + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      float u[per_thread], v[per_thread];
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
        u[i] = left[d][threadIdx.y * per_thread + i];
        v[i] = right[d][threadIdx.x * per_thread + i];
      }
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
#pragma unroll
        for (int j = 0; j < per_thread; ++j) sum[i][j] += u[i] * v[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < per_thread; ++i) {
    for (int j = 0; j < per_thread; ++j) {
      const int r = row_base + threadIdx.y * per_thread + i, col = col_base + threadIdx.x * per_thread + j;
      if (r < m && col < n) c[r * n + col] = sum[i][j];
    }
  }
}

static inline int tiles(int extent, int tile) { return (extent + tile - 1) / tile; }

extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  constexpr int tile = 64, depth = 16, per_thread = 4;
  dim3 block(tile / per_thread, tile / per_thread);
  dim3 grid(tiles(n, tile), tiles(m, tile));
  matmul_tiled<tile, depth, per_thread><<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
