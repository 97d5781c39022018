// task: transpose
// 32 x 32 tiles through shared memory: reads and writes are both coalesced, the padding column avoids bank conflicts.
#define TILE 32
#define ROWS_A_STEP 8

__global__ void transpose_tile(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[TILE][TILE + 1];
  int col = blockIdx.x * TILE + threadIdx.x;
  int row = blockIdx.y * TILE + threadIdx.y;
  for (int step = 0; step < TILE; step += ROWS_A_STEP) {
    if (row + step < rows && col < cols) tile[threadIdx.y + step][threadIdx.x] = x[(row + step) * cols + col];
  }
  __syncthreads();
  col = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int step = 0; step < TILE; step += ROWS_A_STEP) {
    if (row + step < cols && col < rows) y[(row + step) * rows + col] = tile[threadIdx.x][threadIdx.y + step];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(TILE, ROWS_A_STEP);
  const dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose_tile<<<grid, block, 0, stream>>>(x, y, rows, cols);
}
