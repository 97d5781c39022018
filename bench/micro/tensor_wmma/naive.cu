#include <cuda_fp16.h>
#include <mma.h>

// One accumulator a warp: each product waits for the one before. Operands stay in registers.
namespace wmma = nvcuda::wmma;

constexpr int warp_size = 32;
constexpr int side = 16;  // of a tensor-core block
constexpr int steps = 256;
constexpr int tiles = 1;  // blocks of a warp, each with its own accumulators
constexpr int warps = 4;
constexpr int warp_rows = tiles * side;
constexpr int block_rows = warps * warp_rows;

__global__ void __launch_bounds__(warps* warp_size) products(const __half* a, const __half* b, __half* c, int rows) {
  __shared__ alignas(128) __half left[block_rows * side];
  __shared__ alignas(128) __half right[side * side];
  __shared__ alignas(128) float result[block_rows * side];
  const int threads = warps * warp_size;
  const int first_row = blockIdx.x * block_rows;
  const int present = min(rows - first_row, block_rows) * side;
  const __half* source = a + static_cast<size_t>(first_row) * side;
  for (int i = threadIdx.x; i < block_rows * side; i += threads) left[i] = i < present ? source[i] : __float2half(0.0f);
  for (int i = threadIdx.x; i < side * side; i += threads) right[i] = b[i];
  __syncthreads();

  const int warp_at = threadIdx.x / warp_size * warp_rows * side;
  wmma::fragment<wmma::matrix_a, side, side, side, __half, wmma::row_major> x[tiles];
  wmma::fragment<wmma::matrix_b, side, side, side, __half, wmma::row_major> y;
  wmma::fragment<wmma::accumulator, side, side, side, float> sum[tiles];
  wmma::load_matrix_sync(y, right, side);
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    wmma::load_matrix_sync(x[t], left + warp_at + t * side * side, side);
    wmma::fill_fragment(sum[t], 0.0f);
  }
#pragma unroll 4
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int t = 0; t < tiles; ++t) wmma::mma_sync(sum[t], x[t], y, sum[t]);
  }
#pragma unroll
  for (int t = 0; t < tiles; ++t) {
    wmma::store_matrix_sync(result + warp_at + t * side * side, sum[t], side, wmma::mem_row_major);
  }
  __syncthreads();
  __half* target = c + static_cast<size_t>(first_row) * side;
  for (int i = threadIdx.x; i < present; i += threads) target[i] = __float2half(result[i]);
}

extern "C" void launch(const __half* a, const __half* b, __half* c, int rows, cudaStream_t stream) {
  products<<<(rows + block_rows - 1) / block_rows, warps * warp_size, 0, stream>>>(a, b, c, rows);
}
