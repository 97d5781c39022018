#include <cuda_bf16.h>
#include <mma.h>

// Tensor cores with float accumulators: 64 x 64 tiles, four warps of 32 x 32, double-buffered 32-deep slices in padded
// shared memory. The first launch multiplies by the gate and the up matrix at once, so x is staged once for both and
// the gating happens on the float sums; the second launch of the same kernel multiplies by the down matrix.
namespace wmma = nvcuda::wmma;

constexpr int warp_size = 32;
constexpr int block = 16;  // side of a tensor-core block
constexpr int tile = 64, depth = 32;
constexpr int warp_tile = 32;
constexpr int warps_across = tile / warp_tile;
constexpr int warps = warps_across * warps_across;
constexpr int threads = warps * warp_size;
constexpr int blocks = warp_tile / block;
constexpr int width = 8;  // bfloat16 in a 16-byte access
constexpr int pad = 8;
constexpr int packs = tile * depth / width / threads;

// Eight bfloat16 on the move stay words: taken apart, each load would wait for the one before.
struct alignas(16) Words {
  unsigned at[width / 2];
};

// A tile x depth piece of a matrix on its way through the registers of a block; zeros beyond the matrix's edges.
// The matrix is aligned when its rows are whole packs.
template <bool aligned>
struct Piece {
  Words at[packs];

  __device__ void fetch(const __nv_bfloat16* matrix, int height, int length, int first_row, int first_col) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const int i = (p * threads + threadIdx.x) * width;
      const int row = first_row + i / depth, col = first_col + i % depth;
      const __nv_bfloat16* source = matrix + static_cast<size_t>(row) * length + col;
      at[p] = Words{};
      if (aligned) {
        if (row < height && col < length) at[p] = *reinterpret_cast<const Words*>(source);
      } else {
#pragma unroll
        for (int w = 0; w < width; ++w) {
          const unsigned bits = row < height && col + w < length ? __bfloat16_as_ushort(source[w]) : 0;
          at[p].at[w / 2] |= bits << w % 2 * 16;
        }
      }
    }
  }

  __device__ void store(__nv_bfloat16 (*shared)[depth + pad]) const {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const int i = (p * threads + threadIdx.x) * width;
      *reinterpret_cast<Words*>(&shared[i / depth][i % depth]) = at[p];
    }
  }
};

__device__ float silu(float x) { return x / (1.0f + __expf(-x)); }

// With one factor c = a b0^T; with two c = silu(a b0^T) * (a b1^T). a is m x k, the factors are n x k.
template <bool aligned, int factors>
__global__ void __launch_bounds__(threads)
    linear(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b0,
           const __nv_bfloat16* __restrict__ b1, __nv_bfloat16* __restrict__ c, int m, int k, int n) {
  __shared__ alignas(128) __nv_bfloat16 left[2][tile][depth + pad];
  __shared__ alignas(128) __nv_bfloat16 right[2][factors][tile][depth + pad];
  __shared__ alignas(128) float result[warps][factors][block][block];
  const int first_row = blockIdx.y * tile, first_col = blockIdx.x * tile;
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  const int warp_row = warp / warps_across * warp_tile, warp_col = warp % warps_across * warp_tile;

  wmma::fragment<wmma::accumulator, block, block, block, float> sum[factors][blocks][blocks];
#pragma unroll
  for (int f = 0; f < factors; ++f) {
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
#pragma unroll
      for (int j = 0; j < blocks; ++j) wmma::fill_fragment(sum[f][i][j], 0.0f);
    }
  }

  Piece<aligned> next_left, next_right[factors];
  const auto fetch = [&](int start) {
    next_left.fetch(a, m, k, first_row, start);
#pragma unroll
    for (int f = 0; f < factors; ++f) next_right[f].fetch(f == 0 ? b0 : b1, n, k, first_col, start);
  };
  const auto store = [&](int buffer) {
    next_left.store(left[buffer]);
#pragma unroll
    for (int f = 0; f < factors; ++f) next_right[f].store(right[buffer][f]);
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
      wmma::fragment<wmma::matrix_a, block, block, block, __nv_bfloat16, wmma::row_major> u[blocks];
#pragma unroll
      for (int i = 0; i < blocks; ++i) {
        wmma::load_matrix_sync(u[i], &left[buffer][warp_row + i * block][d], depth + pad);
      }
#pragma unroll
      for (int f = 0; f < factors; ++f) {
#pragma unroll
        for (int j = 0; j < blocks; ++j) {
          wmma::fragment<wmma::matrix_b, block, block, block, __nv_bfloat16, wmma::col_major> v;
          wmma::load_matrix_sync(v, &right[buffer][f][warp_col + j * block][d], depth + pad);
#pragma unroll
          for (int i = 0; i < blocks; ++i) wmma::mma_sync(sum[f][i][j], u[i], v, sum[f][i][j]);
        }
      }
    }
    buffer ^= 1;
    if (more) store(buffer);
    __syncthreads();
  }

  // Block by block through shared memory, where the layout is known; a lane then writes half a row of eight elements.
  const int row_in_block = lane / 2, col_in_block = lane % 2 * width;
#pragma unroll
  for (int i = 0; i < blocks; ++i) {
#pragma unroll
    for (int j = 0; j < blocks; ++j) {
#pragma unroll
      for (int f = 0; f < factors; ++f) {
        wmma::store_matrix_sync(&result[warp][f][0][0], sum[f][i][j], block, wmma::mem_row_major);
      }
      __syncwarp();
      const int row = first_row + warp_row + i * block + row_in_block;
      const int col = first_col + warp_col + j * block + col_in_block;
#pragma unroll
      for (int w = 0; w < width; ++w) {
        float value = result[warp][0][row_in_block][col_in_block + w];
        if (factors == 2) value = silu(value) * result[warp][factors - 1][row_in_block][col_in_block + w];
        if (row < m && col + w < n) c[static_cast<size_t>(row) * n + col + w] = __float2bfloat16(value);
      }
      __syncwarp();
    }
  }
}

template <bool aligned>
void launch_layers(const __nv_bfloat16* x, const __nv_bfloat16* w_gate, const __nv_bfloat16* w_up,
                   const __nv_bfloat16* w_down, __nv_bfloat16* inner, __nv_bfloat16* y, int rows, int dim, int hidden,
                   cudaStream_t stream) {
  const int row_tiles = (rows + tile - 1) / tile;
  const dim3 wide((hidden + tile - 1) / tile, row_tiles), narrow((dim + tile - 1) / tile, row_tiles);
  linear<aligned, 2><<<wide, threads, 0, stream>>>(x, w_gate, w_up, inner, rows, dim, hidden);
  linear<aligned, 1><<<narrow, threads, 0, stream>>>(inner, w_down, nullptr, y, rows, hidden, dim);
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* w_gate, const __nv_bfloat16* w_up,
                       const __nv_bfloat16* w_down, __nv_bfloat16* y, int rows, int dim, int hidden,
                       cudaStream_t stream) {
  __nv_bfloat16* inner = nullptr;
  cudaMallocAsync(&inner, static_cast<size_t>(rows) * hidden * sizeof(__nv_bfloat16), stream);
  if (dim % width == 0 && hidden % width == 0) {
    launch_layers<true>(x, w_gate, w_up, w_down, inner, y, rows, dim, hidden, stream);
  } else {
    launch_layers<false>(x, w_gate, w_up, w_down, inner, y, rows, dim, hidden, stream);
  }
  cudaFreeAsync(inner, stream);
}
