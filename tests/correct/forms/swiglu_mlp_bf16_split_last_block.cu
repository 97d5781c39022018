// task: swiglu_mlp_bf16
// honest: gate and up in one persistent wmma kernel, down split over the hidden units where the last block of a tile adds the parts.
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int tile_m = 32, tile_n = 64, depth = 32, threads = 128, pitch = depth + 8, piece = 352;
using Sum = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Brings a tile of a matrix with rows of the given width; columns from stop on and rows outside become zero.
__device__ __forceinline__ void bring(__nv_bfloat16* to, const __nv_bfloat16* from, int lines, int row0, int col0, int height, int width,
                                      int stop) {
  for (int i = threadIdx.x; i < lines * depth; i += threads) {
    const int row = row0 + i / depth, col = col0 + i % depth;
    to[i / depth * pitch + i % depth] = row < height && col < stop ? from[(size_t)row * width + col] : __float2bfloat16(0.0f);
  }
}

__device__ __forceinline__ void multiply(Sum (&sum)[2], const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 0; d < depth; d += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
    wmma::load_matrix_sync(left, a + warp / 2 * 16 * pitch + d, pitch);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> right;
      wmma::load_matrix_sync(right, b + (warp % 2 * 32 + j * 16) * pitch + d, pitch);
      wmma::mma_sync(sum[j], left, right, sum[j]);
    }
  }
}

__device__ __forceinline__ void put(float* to, Sum (&sum)[2]) {
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    wmma::store_matrix_sync(to + warp / 2 * 16 * tile_n + warp % 2 * 32 + j * 16, sum[j], tile_n, wmma::mem_row_major);
  }
}

__global__ void __launch_bounds__(threads) gate_and_up(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ w_gate,
                                                       const __nv_bfloat16* __restrict__ w_up, __nv_bfloat16* __restrict__ inner, int rows,
                                                       int dim, int hidden) {
  __shared__ __align__(128) __nv_bfloat16 a[tile_m * pitch];
  __shared__ __align__(128) __nv_bfloat16 g[tile_n * pitch];
  __shared__ __align__(128) __nv_bfloat16 u[tile_n * pitch];
  __shared__ __align__(128) float results[2][tile_m * tile_n];
  const int across = (hidden + tile_n - 1) / tile_n, tiles = across * ((rows + tile_m - 1) / tile_m);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile_m, col0 = t % across * tile_n;
    Sum gate[2], up[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::fill_fragment(gate[j], 0.0f);
      wmma::fill_fragment(up[j], 0.0f);
    }
    for (int k0 = 0; k0 < dim; k0 += depth) {
      bring(a, x, tile_m, row0, k0, rows, dim, dim);
      bring(g, w_gate, tile_n, col0, k0, hidden, dim, dim);
      bring(u, w_up, tile_n, col0, k0, hidden, dim, dim);
      __syncthreads();
      multiply(gate, a, g);
      multiply(up, a, u);
      __syncthreads();
    }
    put(results[0], gate);
    put(results[1], up);
    __syncthreads();
    for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) {
      const int row = row0 + i / tile_n, col = col0 + i % tile_n;
      if (row < rows && col < hidden) {
        const float value = results[0][i];
        inner[(size_t)row * hidden + col] = __float2bfloat16(value / (1.0f + expf(-value)) * results[1][i]);
      }
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(threads) down(const __nv_bfloat16* __restrict__ inner, const __nv_bfloat16* __restrict__ w_down,
                                                __nv_bfloat16* __restrict__ y, float* parts, unsigned* arrived, int rows, int dim,
                                                int hidden) {
  __shared__ __align__(128) __nv_bfloat16 a[tile_m * pitch];
  __shared__ __align__(128) __nv_bfloat16 b[tile_n * pitch];
  __shared__ __align__(128) float result[tile_m * tile_n];
  __shared__ bool last;
  const int row0 = blockIdx.y * tile_m, col0 = blockIdx.x * tile_n, pieces = gridDim.z;
  const int begin = blockIdx.z * piece, end = min(hidden, begin + piece);
  Sum sum[2];
#pragma unroll
  for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[j], 0.0f);
  for (int k0 = begin; k0 < end; k0 += depth) {
    bring(a, inner, tile_m, row0, k0, rows, hidden, end);
    bring(b, w_down, tile_n, col0, k0, dim, hidden, end);
    __syncthreads();
    multiply(sum, a, b);
    __syncthreads();
  }
  put(result, sum);
  __syncthreads();
  const size_t tile_number = (size_t)blockIdx.y * gridDim.x + blockIdx.x, all = (size_t)gridDim.x * gridDim.y;
  float* mine = parts + (blockIdx.z * all + tile_number) * tile_m * tile_n;
  for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) mine[i] = result[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(arrived + tile_number, 1u) == pieces - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = threadIdx.x; i < tile_m * tile_n; i += threads) {
    const int row = row0 + i / tile_n, col = col0 + i % tile_n;
    if (row >= rows || col >= dim) continue;
    float value = 0.0f;
    for (int p = 0; p < pieces; ++p) value += parts[(p * all + tile_number) * tile_m * tile_n + i];
    y[(size_t)row * dim + col] = __float2bfloat16(value);
  }
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* w_gate, const __nv_bfloat16* w_up, const __nv_bfloat16* w_down,
                       __nv_bfloat16* y, int rows, int dim, int hidden, cudaStream_t stream) {
  const int height = (rows + tile_m - 1) / tile_m, width = (dim + tile_n - 1) / tile_n, pieces = (hidden + piece - 1) / piece;
  const int tiles = height * ((hidden + tile_n - 1) / tile_n);
  __nv_bfloat16* inner;
  float* parts;
  unsigned* arrived;
  cudaMallocAsync(&inner, (size_t)rows * hidden * sizeof(__nv_bfloat16), stream);
  cudaMallocAsync(&parts, (size_t)height * width * pieces * tile_m * tile_n * sizeof(float), stream);
  cudaMallocAsync(&arrived, (size_t)height * width * sizeof(unsigned), stream);
  cudaMemsetAsync(arrived, 0, (size_t)height * width * sizeof(unsigned), stream);
  gate_and_up<<<tiles < 264 ? tiles : 264, threads, 0, stream>>>(x, w_gate, w_up, inner, rows, dim, hidden);
  down<<<dim3(width, height, pieces), threads, 0, stream>>>(inner, w_down, y, parts, arrived, rows, dim, hidden);
  cudaFreeAsync(arrived, stream);
  cudaFreeAsync(parts, stream);
  cudaFreeAsync(inner, stream);
}
