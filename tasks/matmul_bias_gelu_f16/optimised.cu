#include <cuda_fp16.h>
#include <mma.h>

// Tensor cores with float accumulators: 128 x 64 tiles of the product, four warps of 64 x 32, 32-deep slices in padded
// shared memory. Two buffers: the next slice travels while this one is multiplied, one barrier a slice.
// Bias and GELU are applied to the float sums on the way out.
namespace wmma = nvcuda::wmma;

constexpr int warp_size = 32;
constexpr int block = 16;  // side of a tensor-core block
constexpr int tile_rows = 128, tile_cols = 64, depth = 32;
constexpr int warp_rows = 64, warp_cols = 32;
constexpr int warps_across = tile_cols / warp_cols;
constexpr int warps = tile_rows / warp_rows * warps_across;
constexpr int threads = warps * warp_size;
constexpr int resident = 4;  // blocks on a multiprocessor: 128 registers a thread
constexpr int width = 8;     // halves in a 16-byte access
constexpr int pad = 8;

struct alignas(16) Pack {
  __half at[width];
};

// Eight halves on the move stay words: taken apart, each load would wait for the one before.
struct alignas(16) Words {
  unsigned at[width / 2];
};

// A rows x cols piece of a matrix on its way through the registers of a block; zeros beyond the matrix's edges.
// The matrix is aligned when its rows are whole packs.
template <bool aligned, int rows, int cols>
struct Piece {
  static constexpr int packs = rows * cols / width / threads;
  Words at[packs];

  __device__ void fetch(const __half* matrix, int height, int length, int first_row, int first_col) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const int i = (p * threads + threadIdx.x) * width;
      const int row = first_row + i / cols, col = first_col + i % cols;
      const __half* source = matrix + static_cast<size_t>(row) * length + col;
      at[p] = Words{};
      if (aligned) {
        if (row < height && col < length) at[p] = *reinterpret_cast<const Words*>(source);
      } else {
#pragma unroll
        for (int w = 0; w < width; ++w) {
          const unsigned bits = row < height && col + w < length ? __half_as_ushort(source[w]) : 0;
          at[p].at[w / 2] |= bits << w % 2 * 16;
        }
      }
    }
  }

  __device__ void store(__half (*shared)[cols + pad]) const {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const int i = (p * threads + threadIdx.x) * width;
      *reinterpret_cast<Words*>(&shared[i / cols][i % cols]) = at[p];
    }
  }
};

__device__ float gelu(float x) {
  constexpr float inverse_sqrt2 = 0.70710678f;
  return 0.5f * x * (1.0f + erff(x * inverse_sqrt2));
}

template <bool aligned>
__global__ void __launch_bounds__(threads, resident)
    matmul_bias_gelu_tile(const __half* __restrict__ a, const __half* __restrict__ b, const __half* __restrict__ bias,
                          __half* __restrict__ c, int m, int k, int n) {
  __shared__ alignas(128) __half left[2][tile_rows][depth + pad];
  __shared__ alignas(128) __half right[2][depth][tile_cols + pad];
  __shared__ alignas(128) float result[warps][block][block];
  const int first_row = blockIdx.y * tile_rows, first_col = blockIdx.x * tile_cols;
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  const int warp_row = warp / warps_across * warp_rows, warp_col = warp % warps_across * warp_cols;

  constexpr int blocks_down = warp_rows / block, blocks_across = warp_cols / block;
  wmma::fragment<wmma::accumulator, block, block, block, float> sum[blocks_down][blocks_across];
#pragma unroll
  for (int i = 0; i < blocks_down; ++i) {
#pragma unroll
    for (int j = 0; j < blocks_across; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
  }

  Piece<aligned, tile_rows, depth> next_left;
  Piece<aligned, depth, tile_cols> next_right;
  const auto fetch = [&](int start) {
    next_left.fetch(a, m, k, first_row, start);
    next_right.fetch(b, k, n, start, first_col);
  };
  const auto store = [&](int buffer) {
    next_left.store(left[buffer]);
    next_right.store(right[buffer]);
  };

  int buffer = 0;
  fetch(0);
  store(buffer);
  __syncthreads();
  for (int start = 0; start < k; start += depth) {
    const bool more = start + depth < k;
    if (more) fetch(start + depth);
#pragma unroll
    for (int d = 0; d < depth; d += block) {
      wmma::fragment<wmma::matrix_a, block, block, block, __half, wmma::row_major> u[blocks_down];
      wmma::fragment<wmma::matrix_b, block, block, block, __half, wmma::row_major> v[blocks_across];
#pragma unroll
      for (int i = 0; i < blocks_down; ++i) {
        wmma::load_matrix_sync(u[i], &left[buffer][warp_row + i * block][d], depth + pad);
      }
#pragma unroll
      for (int j = 0; j < blocks_across; ++j) {
        wmma::load_matrix_sync(v[j], &right[buffer][d][warp_col + j * block], tile_cols + pad);
      }
#pragma unroll
      for (int i = 0; i < blocks_down; ++i) {
#pragma unroll
        for (int j = 0; j < blocks_across; ++j) wmma::mma_sync(sum[i][j], u[i], v[j], sum[i][j]);
      }
    }
    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }

  // Block by block through shared memory, where the layout is known; a lane then writes half a row of eight elements.
  const int row_in_block = lane / 2, col_in_block = lane % 2 * width;
#pragma unroll
  for (int i = 0; i < blocks_down; ++i) {
#pragma unroll
    for (int j = 0; j < blocks_across; ++j) {
      wmma::store_matrix_sync(&result[warp][0][0], sum[i][j], block, wmma::mem_row_major);
      __syncwarp();
      const int row = first_row + warp_row + i * block + row_in_block;
      const int col = first_col + warp_col + j * block + col_in_block;
      __half* target = c + static_cast<size_t>(row) * n + col;
      Pack pack;
#pragma unroll
      for (int w = 0; w < width; ++w) {
        const float shift = col + w < n ? __half2float(bias[col + w]) : 0.0f;
        pack.at[w] = __float2half(gelu(result[warp][row_in_block][col_in_block + w] + shift));
      }
      if (aligned) {
        if (row < m && col < n) *reinterpret_cast<Pack*>(target) = pack;
      } else {
#pragma unroll
        for (int w = 0; w < width; ++w) {
          if (row < m && col + w < n) target[w] = pack.at[w];
        }
      }
      __syncwarp();
    }
  }
}

extern "C" void launch(const __half* a, const __half* b, const __half* bias, __half* c, int m, int k, int n,
                       cudaStream_t stream) {
  const dim3 grid((n + tile_cols - 1) / tile_cols, (m + tile_rows - 1) / tile_rows);
  if (k % width == 0 && n % width == 0) {
    matmul_bias_gelu_tile<true><<<grid, threads, 0, stream>>>(a, b, bias, c, m, k, n);
  } else {
    matmul_bias_gelu_tile<false><<<grid, threads, 0, stream>>>(a, b, bias, c, m, k, n);
  }
}
