#include <cuda_fp16.h>

// 64 x 64 tiles through shared memory, two halves a thread: a warp reads and writes whole 128-byte lines. Matrices
// with an odd side cannot be read in pairs; they go through 32 x 32 tiles of single halves.
constexpr int warp_size = 32;
constexpr int warps = 8;

template <int width>
struct alignas(width * sizeof(__half)) Pack {
  __half at[width];
};

template <int width>
__global__ void transpose_tile(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  constexpr int side = warp_size * width;
  __shared__ Pack<width> tile[side][warp_size + 1];
  const int first_row = blockIdx.x * side;
  const int first_col = blockIdx.y * side;

  const int col = first_col + threadIdx.x * width;
#pragma unroll
  for (int r = threadIdx.y; r < side; r += warps) {
    const int row = first_row + r;
    if (row < rows && col < cols) {
      const __half* in = x + static_cast<size_t>(row) * cols + col;
      tile[r][threadIdx.x] = *reinterpret_cast<const Pack<width>*>(in);
    }
  }
  __syncthreads();

  const int row = first_row + threadIdx.x * width;
#pragma unroll
  for (int c = threadIdx.y; c < side; c += warps) {
    const int out_row = first_col + c;
    if (row < rows && out_row < cols) {
      Pack<width> pack;
#pragma unroll
      for (int k = 0; k < width; ++k) pack.at[k] = tile[threadIdx.x * width + k][c / width].at[c % width];
      __half* out = y + static_cast<size_t>(out_row) * rows + row;
      *reinterpret_cast<Pack<width>*>(out) = pack;
    }
  }
}

template <int width>
void launch_tiles(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  constexpr int side = warp_size * width;
  const dim3 block(warp_size, warps);
  const dim3 grid((rows + side - 1) / side, (cols + side - 1) / side);
  transpose_tile<width><<<grid, block, 0, stream>>>(x, y, rows, cols);
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  if (rows % 2 == 0 && cols % 2 == 0) {
    launch_tiles<2>(x, y, rows, cols, stream);
  } else {
    launch_tiles<1>(x, y, rows, cols, stream);
  }
}
