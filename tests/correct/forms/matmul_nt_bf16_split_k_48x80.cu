// task: matmul_nt_bf16
// honest: tiles of 48 x 80 by five warps, long sums cut into pieces of 1024 that a second kernel adds, at most 528 blocks in turn.
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int tile_m = 48, tile_n = 80, depth = 32, threads = 160, pitch = depth + 8, piece = 1024;

__global__ void __launch_bounds__(threads) multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                    __nv_bfloat16* __restrict__ c, float* __restrict__ parts, int m, int k, int n,
                                                    int pieces) {
  __shared__ __align__(128) __nv_bfloat16 a_tile[tile_m * pitch];
  __shared__ __align__(128) __nv_bfloat16 b_tile[tile_n * pitch];
  __shared__ __align__(128) float result[tile_m * tile_n];
  const int across = (n + tile_n - 1) / tile_n, down = (m + tile_m - 1) / tile_m, work = across * down * pieces;
  const int warp = threadIdx.x / 32;
  for (int w = blockIdx.x; w < work; w += gridDim.x) {
    const int p = w % pieces, t = w / pieces, row0 = t / across * tile_m, col0 = t % across * tile_n;
    const int stop = min(k, (p + 1) * piece);
    const int end = pieces == 1 ? k : stop;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) wmma::fill_fragment(sum[i], 0.0f);
    for (int k0 = p * piece; k0 < end; k0 += depth) {
      const bool whole = k0 + depth <= end && row0 + tile_m <= m && col0 + tile_n <= n;
      if (whole && k % 8 == 0) {
        for (int i = threadIdx.x; i < tile_m * depth / 8; i += threads) {
          *reinterpret_cast<uint4*>(a_tile + i / 4 * pitch + i % 4 * 8) =
              *reinterpret_cast<const uint4*>(a + (size_t)(row0 + i / 4) * k + k0 + i % 4 * 8);
        }
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int i = e * threads + threadIdx.x;
          *reinterpret_cast<uint4*>(b_tile + i / 4 * pitch + i % 4 * 8) =
              *reinterpret_cast<const uint4*>(b + (size_t)(col0 + i / 4) * k + k0 + i % 4 * 8);
        }
      } else {
        for (int i = threadIdx.x; i < tile_m * depth; i += threads) {
          const int row = row0 + i / depth, at = k0 + i % depth;
          a_tile[i / depth * pitch + i % depth] = row < m && at < end ? a[(size_t)row * k + at] : __float2bfloat16(0.0f);
        }
        for (int i = threadIdx.x; i < tile_n * depth; i += threads) {
          const int col = col0 + i / depth, at = k0 + i % depth;
          b_tile[i / depth * pitch + i % depth] = col < n && at < end ? b[(size_t)col * k + at] : __float2bfloat16(0.0f);
        }
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; d += 16) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> right;
        wmma::load_matrix_sync(right, b_tile + warp * 16 * pitch + d, pitch);
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
          wmma::load_matrix_sync(left, a_tile + i * 16 * pitch + d, pitch);
          wmma::mma_sync(sum[i], left, right, sum[i]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) wmma::store_matrix_sync(result + i * 16 * tile_n + warp * 16, sum[i], tile_n, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) {
      const int row = row0 + i / tile_n, col = col0 + i % tile_n;
      if (row < m && col < n) {
        if (pieces == 1) c[(size_t)row * n + col] = __float2bfloat16(result[i]);
        else parts[((size_t)p * m + row) * n + col] = result[i];
      }
    }
    __syncthreads();
  }
}

__global__ void add_pieces(const float* __restrict__ parts, __nv_bfloat16* __restrict__ c, int total, int pieces) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    float sum = 0.0f;
    for (int p = 0; p < pieces; ++p) sum += parts[(size_t)p * total + i];
    c[i] = __float2bfloat16(sum);
  }
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int k, int n, cudaStream_t stream) {
  const int pieces = k >= 2 * piece ? (k + piece - 1) / piece : 1;
  const int work = ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n) * pieces;
  const int blocks = work < 528 ? work : 528;
  float* parts = nullptr;
  if (pieces > 1) cudaMallocAsync(&parts, (size_t)pieces * m * n * sizeof(float), stream);
  multiply<<<blocks, threads, 0, stream>>>(a, b, c, parts, m, k, n, pieces);
  if (pieces > 1) {
    const int groups = (m * n + 255) / 256;
    add_pieces<<<groups < 2112 ? groups : 2112, 256, 0, stream>>>(parts, c, m * n, pieces);
    cudaFreeAsync(parts, stream);
  }
}
