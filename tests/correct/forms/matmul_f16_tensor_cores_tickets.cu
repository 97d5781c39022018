// task: matmul_f16
// honest: 132 persistent blocks draw 64 x 96 tiles by ticket, wmma on two shared buffers filled by cp.async, guarded at the edges.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int tile_m = 64, tile_n = 96, depth = 32, threads = 256;
constexpr int a_pitch = depth + 8, b_pitch = tile_n + 8, c_pitch = tile_n + 4;
constexpr int a_halves = tile_m * a_pitch, b_halves = depth * b_pitch;
constexpr int stage_bytes = 2 * (a_halves + b_halves) * 2;
constexpr int result_bytes = tile_m * c_pitch * 4;
constexpr int shared_bytes = stage_bytes > result_bytes ? stage_bytes : result_bytes;

__device__ __forceinline__ void copy_async(__half* to, const __half* from) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}

// Brings rows x (8 * groups) halves to shared memory; what lies outside of the matrix becomes zero.
__device__ __forceinline__ void bring(__half* to, int pitch, const __half* from, int rows, int groups, int row0, int col0, int height,
                                      int width) {
  for (int i = threadIdx.x; i < rows * groups; i += threads) {
    const int r = i / groups, c = i % groups * 8;
    __half* place = to + r * pitch + c;
    const int row = row0 + r, col = col0 + c;
    if (width % 8 == 0) {
      if (row < height && col < width) copy_async(place, from + (size_t)row * width + col);
      else *reinterpret_cast<uint4*>(place) = make_uint4(0, 0, 0, 0);
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        place[e] = row < height && col + e < width ? from[(size_t)row * width + col + e] : __float2half(0.0f);
      }
    }
  }
}

__global__ void __launch_bounds__(threads) matmul_kernel(const __half* __restrict__ a, const __half* __restrict__ b,
                                                         __half* __restrict__ c, int m, int k, int n, unsigned* ticket) {
  __shared__ __align__(128) unsigned char memory[shared_bytes];
  __shared__ unsigned drawn;
  __half* a_stage = reinterpret_cast<__half*>(memory);
  __half* b_stage = a_stage + 2 * a_halves;
  float* result = reinterpret_cast<float*>(memory);
  const unsigned across = (n + tile_n - 1) / tile_n, tiles = across * ((m + tile_m - 1) / tile_m);
  const int steps = (k + depth - 1) / depth;
  const int warp = threadIdx.x / 32, warp_row = warp / 2 * 16, warp_col = warp % 2 * 48;
  for (;;) {
    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned t = drawn;
    if (t >= tiles) break;
    const int row0 = t / across * tile_m, col0 = t % across * tile_n;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[3];
#pragma unroll
    for (int j = 0; j < 3; ++j) wmma::fill_fragment(sum[j], 0.0f);
    bring(a_stage, a_pitch, a, tile_m, depth / 8, row0, 0, m, k);
    bring(b_stage, b_pitch, b, depth, tile_n / 8, 0, col0, k, n);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int step = 0; step < steps; ++step) {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      __syncthreads();
      if (step + 1 < steps) {
        const int into = (step + 1) % 2;
        bring(a_stage + into * a_halves, a_pitch, a, tile_m, depth / 8, row0, (step + 1) * depth, m, k);
        bring(b_stage + into * b_halves, b_pitch, b, depth, tile_n / 8, (step + 1) * depth, col0, k, n);
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
      const __half* a_now = a_stage + step % 2 * a_halves;
      const __half* b_now = b_stage + step % 2 * b_halves;
#pragma unroll
      for (int d = 0; d < depth; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
        wmma::load_matrix_sync(left, a_now + warp_row * a_pitch + d, a_pitch);
#pragma unroll
        for (int j = 0; j < 3; ++j) {
          wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
          wmma::load_matrix_sync(right, b_now + d * b_pitch + warp_col + 16 * j, b_pitch);
          wmma::mma_sync(sum[j], left, right, sum[j]);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      wmma::store_matrix_sync(result + warp_row * c_pitch + warp_col + 16 * j, sum[j], c_pitch, wmma::mem_row_major);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) {
      const int r = i / tile_n, col = col0 + i % tile_n;
      if (row0 + r < m && col < n) c[(size_t)(row0 + r) * n + col] = __float2half(result[r * c_pitch + i % tile_n]);
    }
    __syncthreads();
  }
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int m, int k, int n, cudaStream_t stream) {
  const int tiles = ((m + tile_m - 1) / tile_m) * ((n + tile_n - 1) / tile_n);
  unsigned* ticket;
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  matmul_kernel<<<tiles < 132 ? tiles : 132, threads, 0, stream>>>(a, b, c, m, k, n, ticket);
  cudaFreeAsync(ticket, stream);
}
