// task: matmul_tn_f16
// honest: stream-K: 132 blocks share all slices of all tiles evenly, tiles that were cut are put together by a second kernel.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int tile = 64, depth = 32, threads = 128, pitch = tile + 8;

__global__ void __launch_bounds__(threads) stream_k(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                                    float* __restrict__ parts, int k, int m, int n, int per_block) {
  __shared__ __align__(128) __half a_tile[depth * pitch];
  __shared__ __align__(128) __half b_tile[depth * pitch];
  __shared__ __align__(128) float result[tile * tile];
  const int across = (n + tile - 1) / tile, tiles = across * ((m + tile - 1) / tile), steps = (k + depth - 1) / depth;
  const int warp_row = threadIdx.x / 64 * 32, warp_col = threadIdx.x / 32 % 2 * 32;
  int at = blockIdx.x * per_block;
  const int end = min(at + per_block, tiles * steps);
  while (at < end) {
    const int t = at / steps, first = at % steps, last = min(steps, first + end - at);
    const int row0 = t / across * tile, col0 = t % across * tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int step = first; step < last; ++step) {
      for (int i = threadIdx.x; i < depth * tile; i += threads) {
        const int d = i / tile, e = i % tile, row = step * depth + d;
        a_tile[d * pitch + e] = row < k && row0 + e < m ? a[(size_t)row * m + row0 + e] : __float2half(0.0f);
        b_tile[d * pitch + e] = row < k && col0 + e < n ? b[(size_t)row * n + col0 + e] : __float2half(0.0f);
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::col_major> left[2];
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          wmma::load_matrix_sync(left[i], a_tile + d * pitch + warp_row + 16 * i, pitch);
          wmma::load_matrix_sync(right[i], b_tile + d * pitch + warp_col + 16 * i, pitch);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) wmma::mma_sync(sum[i / 2][i % 2], left[i / 2], right[i % 2], sum[i / 2][i % 2]);
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      wmma::store_matrix_sync(result + (warp_row + i / 2 * 16) * tile + warp_col + i % 2 * 16, sum[i / 2][i % 2], tile,
                              wmma::mem_row_major);
    }
    __syncthreads();
    if (first == 0 && last == steps) {
      for (int i = threadIdx.x; i < tile * tile; i += threads) {
        const int row = row0 + i / tile, col = col0 + i % tile;
        if (row < m && col < n) c[(size_t)row * n + col] = __float2half(result[i]);
      }
    } else {
      float* part = parts + ((size_t)blockIdx.x * 2 + (first == 0)) * tile * tile;
      for (int i = threadIdx.x; i < tile * tile; i += threads) part[i] = result[i];
    }
    __syncthreads();
    at += last - first;
  }
}

// The part of a tile's first block lies in its second slot, those of the following blocks in their first.
__global__ void __launch_bounds__(threads) put_together(const float* __restrict__ parts, __half* __restrict__ c, int k, int m, int n,
                                                        int per_block) {
  const int across = (n + tile - 1) / tile, steps = (k + depth - 1) / depth, t = blockIdx.x;
  const int first = t * steps / per_block, last = (t * steps + steps - 1) / per_block;
  if (first == last) return;
  const int row0 = t / across * tile, col0 = t % across * tile;
  for (int i = threadIdx.x; i < tile * tile; i += threads) {
    float sum = parts[((size_t)first * 2 + 1) * tile * tile + i];
    for (int other = first + 1; other <= last; ++other) sum += parts[(size_t)other * 2 * tile * tile + i];
    const int row = row0 + i / tile, col = col0 + i % tile;
    if (row < m && col < n) c[(size_t)row * n + col] = __float2half(sum);
  }
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int k, int m, int n, cudaStream_t stream) {
  const int tiles = ((m + tile - 1) / tile) * ((n + tile - 1) / tile), steps = (k + depth - 1) / depth;
  const int per_block = (tiles * steps + 131) / 132;
  const int blocks = (tiles * steps + per_block - 1) / per_block;
  float* parts;
  cudaMallocAsync(&parts, (size_t)blocks * 2 * tile * tile * sizeof(float), stream);
  stream_k<<<blocks, threads, 0, stream>>>(a, b, c, parts, k, m, n, per_block);
  put_together<<<tiles, threads, 0, stream>>>(parts, c, k, m, n, per_block);
  cudaFreeAsync(parts, stream);
}
