// task: transpose
// honest: tiles of 48 x 48 through shared memory, full tiles without any guard, edge tiles with guards.
constexpr int tile = 48;
constexpr int rows_at_once = 8;

__global__ void __launch_bounds__(tile * rows_at_once) transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows,
                                                                        int cols) {
  __shared__ float buffer[tile][tile + 1];
  const int col0 = blockIdx.x * tile, row0 = blockIdx.y * tile;
  const int tx = threadIdx.x, ty = threadIdx.y;
  if (col0 + tile <= cols && row0 + tile <= rows) {
#pragma unroll
    for (int r = 0; r < tile; r += rows_at_once) buffer[r + ty][tx] = x[(size_t)(row0 + r + ty) * cols + col0 + tx];
    __syncthreads();
#pragma unroll
    for (int c = 0; c < tile; c += rows_at_once) y[(size_t)(col0 + c + ty) * rows + row0 + tx] = buffer[tx][c + ty];
  } else {
    for (int r = ty; r < tile; r += rows_at_once) {
      if (row0 + r < rows && col0 + tx < cols) buffer[r][tx] = x[(size_t)(row0 + r) * cols + col0 + tx];
    }
    __syncthreads();
    for (int c = ty; c < tile; c += rows_at_once) {
      if (col0 + c < cols && row0 + tx < rows) y[(size_t)(col0 + c) * rows + row0 + tx] = buffer[tx][c];
    }
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + tile - 1) / tile, (rows + tile - 1) / tile);
  transpose_kernel<<<grid, dim3(tile, rows_at_once), 0, stream>>>(x, y, rows, cols);
}
