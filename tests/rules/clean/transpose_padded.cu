// Through a padded tile, so that loads and stores are both coalesced.
#define TILE 32
#define ROWS 8

__global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[TILE][TILE + 1];
  int col = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) {
    if (row + i < rows && col < cols) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * cols + col];
  }
  __syncthreads();
  int out_col = blockIdx.y * TILE + threadIdx.x;
  int out_row = blockIdx.x * TILE + threadIdx.y;
  for (int i = 0; i < TILE; i += ROWS) {
    if (out_row + i < cols && out_col < rows) y[(out_row + i) * rows + out_col] = tile[threadIdx.x][threadIdx.y + i];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, ROWS), 0, stream>>>(x, y, rows, cols);
}
