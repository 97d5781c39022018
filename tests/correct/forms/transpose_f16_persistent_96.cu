// task: transpose_f16
// honest: tiles of 96 x 96 halves through shared memory, 1056 persistent blocks in turn, full tiles in pairs, edge tiles one by one.
#include <cuda_fp16.h>

constexpr int tile = 96, threads = 384;

__global__ void __launch_bounds__(threads) turn(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  __shared__ __align__(4) __half buffer[tile][tile + 2];
  const int across = (cols + tile - 1) / tile, tiles = across * ((rows + tile - 1) / tile);
  const int pair = threadIdx.x % 48 * 2, line = threadIdx.x / 48;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int row0 = t / across * tile, col0 = t % across * tile;
    if (row0 + tile <= rows && col0 + tile <= cols && rows % 2 == 0 && cols % 2 == 0) {
#pragma unroll
      for (int r = 0; r < tile; r += 8) {
        *reinterpret_cast<__half2*>(&buffer[r + line][pair]) =
            *reinterpret_cast<const __half2*>(x + (size_t)(row0 + r + line) * cols + col0 + pair);
      }
      __syncthreads();
#pragma unroll
      for (int c = 0; c < tile; c += 8) {
        *reinterpret_cast<__half2*>(y + (size_t)(col0 + c + line) * rows + row0 + pair) =
            __halves2half2(buffer[pair][c + line], buffer[pair + 1][c + line]);
      }
    } else {
      for (int i = threadIdx.x; i < tile * tile; i += threads) {
        const int row = row0 + i / tile, col = col0 + i % tile;
        if (row < rows && col < cols) buffer[i / tile][i % tile] = x[(size_t)row * cols + col];
      }
      __syncthreads();
      for (int i = threadIdx.x; i < tile * tile; i += threads) {
        const int col = col0 + i / tile, row = row0 + i % tile;
        if (row < rows && col < cols) y[(size_t)col * rows + row] = buffer[i % tile][i / tile];
      }
    }
    __syncthreads();
  }
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  const int tiles = ((rows + tile - 1) / tile) * ((cols + tile - 1) / tile);
  turn<<<tiles < 1056 ? tiles : 1056, threads, 0, stream>>>(x, y, rows, cols);
}
