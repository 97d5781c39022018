// 32 x 32 tiles through shared memory: reads and writes are both contiguous over the warp, the padding column keeps
// the transposed reads free of bank conflicts, and each thread has four loads in flight.
constexpr int tile_side = 32;
constexpr int warps = 8;

__global__ void transpose_tile(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[tile_side][tile_side + 1];
  const int first_row = blockIdx.x * tile_side;
  const int first_col = blockIdx.y * tile_side;

  const int col = first_col + threadIdx.x;
#pragma unroll
  for (int r = threadIdx.y; r < tile_side; r += warps) {
    const int row = first_row + r;
    if (row < rows && col < cols) tile[r][threadIdx.x] = x[static_cast<size_t>(row) * cols + col];
  }
  __syncthreads();

  const int row = first_row + threadIdx.x;
#pragma unroll
  for (int c = threadIdx.y; c < tile_side; c += warps) {
    const int out_row = first_col + c;
    if (row < rows && out_row < cols) y[static_cast<size_t>(out_row) * rows + row] = tile[threadIdx.x][c];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(tile_side, warps);
  const dim3 grid((rows + tile_side - 1) / tile_side, (cols + tile_side - 1) / tile_side);
  transpose_tile<<<grid, block, 0, stream>>>(x, y, rows, cols);
}
