// task: transpose
// A tile of 32 x 32 in shared memory for each warp.
constexpr int threads = 32;  // of a block; the variants have more

__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tiles[threads / 32][32][33];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_row = (blockIdx.y * (threads / 32) + warp) * 32, first_column = blockIdx.x * 32;
  for (int j = 0; j < 32; ++j)
    if (first_row + j < rows && first_column + lane < cols)
      tiles[warp][j][lane] = x[(size_t)(first_row + j) * cols + first_column + lane];
  __syncwarp();
  for (int j = 0; j < 32; ++j)
    if (first_column + j < cols && first_row + lane < rows)
      y[(size_t)(first_column + j) * rows + first_row + lane] = tiles[warp][lane][j];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + 31) / 32, (rows + threads - 1) / threads);
  transpose_kernel<<<grid, threads, 0, stream>>>(x, y, rows, cols);
}
