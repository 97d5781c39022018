// The same through a padded tile of shared memory: loads and stores are coalesced.
constexpr int cols = 32;
constexpr int height = 8;  // rows of threads

__global__ void to_columns(const float* x, float* y, int rows) {
  __shared__ float tile[cols][cols + 1];
  const int first = blockIdx.x * cols;
#pragma unroll
  for (int r = threadIdx.y; r < cols; r += height) {
    if (first + r < rows) tile[r][threadIdx.x] = x[static_cast<size_t>(first + r) * cols + threadIdx.x];
  }
  __syncthreads();
  const int row = first + threadIdx.x;
  if (row >= rows) return;
#pragma unroll
  for (int c = threadIdx.y; c < cols; c += height) y[static_cast<size_t>(c) * rows + row] = tile[threadIdx.x][c];
}

extern "C" void launch(const float* x, float* y, int rows, cudaStream_t stream) {
  to_columns<<<(rows + cols - 1) / cols, dim3(cols, height), 0, stream>>>(x, y, rows);
}
