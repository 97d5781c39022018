// 64 x 64 tiles of the product, 8 x 4 elements a thread in registers, 16-deep slices of both factors in shared
// memory. Two buffers: the next slice travels from global memory while this one is multiplied, one barrier a slice.
// Bias and ReLU are applied on the way out, in registers.
constexpr int tile = 64;
constexpr int depth = 16;
constexpr int thread_rows = 8;
constexpr int thread_cols = 4;
constexpr int threads = (tile / thread_rows) * (tile / thread_cols);
constexpr int loads = tile * depth / threads;

__global__ void __launch_bounds__(threads)
    matmul_bias_relu_tile(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias,
                          float* __restrict__ c, int m, int k, int n) {
  __shared__ alignas(16) float left[2][depth][tile + 4];  // transposed, padded against bank conflicts
  __shared__ alignas(16) float right[2][depth][tile];
  const int first_row = blockIdx.y * tile;
  const int first_col = blockIdx.x * tile;
  const int row_in_tile = threadIdx.x / (tile / thread_cols) * thread_rows;
  const int col_in_tile = threadIdx.x % (tile / thread_cols) * thread_cols;

  float next_left[loads], next_right[loads];
  const auto fetch = [&](int start) {
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const int i = l * threads + threadIdx.x;
      const int row = first_row + i / depth, d = start + i % depth;
      next_left[l] = row < m && d < k ? a[static_cast<size_t>(row) * k + d] : 0.0f;
      const int e = start + i / tile, col = first_col + i % tile;
      next_right[l] = e < k && col < n ? b[static_cast<size_t>(e) * n + col] : 0.0f;
    }
  };
  const auto store = [&](int buffer) {
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const int i = l * threads + threadIdx.x;
      left[buffer][i % depth][i / depth] = next_left[l];
      right[buffer][i / tile][i % tile] = next_right[l];
    }
  };

  float sum[thread_rows][thread_cols] = {};
  int buffer = 0;
  fetch(0);
  store(buffer);
  __syncthreads();
  for (int start = 0; start < k; start += depth) {
    const bool more = start + depth < k;
    if (more) fetch(start + depth);
#pragma unroll
    for (int d = 0; d < depth; ++d) {
#pragma unroll
      for (int i = 0; i < thread_rows; ++i) {
#pragma unroll
        for (int j = 0; j < thread_cols; ++j) {
          sum[i][j] += left[buffer][d][row_in_tile + i] * right[buffer][d][col_in_tile + j];
        }
      }
    }
    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }

#pragma unroll
  for (int j = 0; j < thread_cols; ++j) {
    const int col = first_col + col_in_tile + j;
    if (col >= n) break;
    const float shift = bias[col];
#pragma unroll
    for (int i = 0; i < thread_rows; ++i) {
      const int row = first_row + row_in_tile + i;
      if (row < m) c[static_cast<size_t>(row) * n + col] = fmaxf(sum[i][j] + shift, 0.0f);
    }
  }
}

extern "C" void launch(const float* a, const float* b, const float* bias, float* c, int m, int k, int n,
                       cudaStream_t stream) {
  const dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
  matmul_bias_relu_tile<<<grid, threads, 0, stream>>>(a, b, bias, c, m, k, n);
}
