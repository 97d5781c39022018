// One thread computes the dot product of two columns.
__global__ void gram(const float* x, float* y, int rows, int cols) {
  int right = blockIdx.x * blockDim.x + threadIdx.x;
  int left = blockIdx.y * blockDim.y + threadIdx.y;
  if (left >= cols || right >= cols) return;
  float sum = 0.0f;
  for (int row = 0; row < rows; ++row) sum += x[row * cols + left] * x[row * cols + right];
  y[left * cols + right] = sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int tile = 16;
  const int tiles = (cols + tile - 1) / tile;
  gram<<<dim3(tiles, tiles), dim3(tile, tile), 0, stream>>>(x, y, rows, cols);
}
