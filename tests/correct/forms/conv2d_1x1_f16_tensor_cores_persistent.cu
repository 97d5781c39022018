// task: conv2d_1x1_f16
// honest: a matrix product for each image with wmma, 48 channels x 80 pixels a tile, five warps, 264 blocks in turn, guarded edges.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int tile_m = 48, tile_n = 80, depth = 32, threads = 160, w_pitch = depth + 8, x_pitch = tile_n + 8;

__global__ void __launch_bounds__(threads) pointwise(const __half* __restrict__ x, const __half* __restrict__ weight,
                                                     const __half* __restrict__ bias, __half* __restrict__ y, int batch, int in_channels,
                                                     int area, int out_channels) {
  __shared__ __align__(128) __half w_tile[tile_m * w_pitch];
  __shared__ __align__(128) __half x_tile[depth * x_pitch];
  __shared__ __align__(128) float result[tile_m * tile_n];
  const int across = (area + tile_n - 1) / tile_n, down = (out_channels + tile_m - 1) / tile_m, work = batch * across * down;
  const int warp = threadIdx.x / 32;
  for (int t = blockIdx.x; t < work; t += gridDim.x) {
    const int image = t / (across * down), out0 = t / across % down * tile_m, at0 = t % across * tile_n;
    const __half* from = x + (size_t)image * in_channels * area;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) wmma::fill_fragment(sum[i], 0.0f);
    for (int in0 = 0; in0 < in_channels; in0 += depth) {
      for (int i = threadIdx.x; i < tile_m * depth; i += threads) {
        const int o = out0 + i / depth, c = in0 + i % depth;
        const bool there = o < out_channels && c < in_channels;
        w_tile[i / depth * w_pitch + i % depth] = there ? weight[(size_t)o * in_channels + c] : __float2half(0.0f);
      }
      if (in0 + depth <= in_channels && at0 + tile_n <= area && area % 2 == 0) {
#pragma unroll
        for (int e = 0; e < depth * tile_n / 2 / threads; ++e) {
          const int i = e * threads + threadIdx.x, c = i / (tile_n / 2), at = i % (tile_n / 2) * 2;
          *reinterpret_cast<__half2*>(x_tile + c * x_pitch + at) =
              *reinterpret_cast<const __half2*>(from + (size_t)(in0 + c) * area + at0 + at);
        }
      } else {
        for (int i = threadIdx.x; i < depth * tile_n; i += threads) {
          const int c = in0 + i / tile_n, at = at0 + i % tile_n;
          const bool there = c < in_channels && at < area;
          x_tile[i / tile_n * x_pitch + i % tile_n] = there ? from[(size_t)c * area + at] : __float2half(0.0f);
        }
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; d += 16) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
        wmma::load_matrix_sync(right, x_tile + d * x_pitch + warp * 16, x_pitch);
#pragma unroll
        for (int i = 0; i < 3; ++i) {
          wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
          wmma::load_matrix_sync(left, w_tile + i * 16 * w_pitch + d, w_pitch);
          wmma::mma_sync(sum[i], left, right, sum[i]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) wmma::store_matrix_sync(result + i * 16 * tile_n + warp * 16, sum[i], tile_n, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) {
      const int o = out0 + i / tile_n, at = at0 + i % tile_n;
      if (o < out_channels && at < area) {
        y[((size_t)image * out_channels + o) * area + at] = __float2half(result[i] + __half2float(bias[o]));
      }
    }
  }
}

extern "C" void launch(const __half* x, const __half* weight, const __half* bias, __half* y, int batch, int in_channels, int height,
                       int width, int out_channels, cudaStream_t stream) {
  const int area = height * width;
  const int work = batch * ((area + tile_n - 1) / tile_n) * ((out_channels + tile_m - 1) / tile_m);
  pointwise<<<work < 264 ? work : 264, threads, 0, stream>>>(x, weight, bias, y, batch, in_channels, area, out_channels);
}
