// task: transpose
constexpr int tile_size = 32;

__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[tile_size][tile_size + 1];
  int column = blockIdx.x * tile_size + threadIdx.x;
  int row = blockIdx.y * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += 8)
    if (row + j < rows && column < cols) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * cols + column];
  __syncthreads();
  column = blockIdx.y * tile_size + threadIdx.x;
  row = blockIdx.x * tile_size + threadIdx.y;
  for (int j = 0; j < tile_size; j += 8)
    if (row + j < cols && column < rows) y[(row + j) * rows + column] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + tile_size - 1) / tile_size, (rows + tile_size - 1) / tile_size);
  transpose_kernel<<<grid, dim3(tile_size, 8), 0, stream>>>(x, y, rows, cols);
}
