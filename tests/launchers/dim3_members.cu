// task: softmax
__global__ void tile(const float* x, float* y, int rows, int cols) { y[0] = x[0] + rows + cols; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 block, grid;
  block.x = 32;
  block.y = 8;
  grid.x = (cols + block.x - 1) / block.x;
  grid.y = (rows + block.y - 1) / block.y;
  grid.z = 1 + (rows > 100);
  block.y *= 2;
  block.y /= 4;
  size_t bytes = block.x * block.y * sizeof(float);
  tile<<<grid, block, bytes, stream>>>(x, y, rows, cols);
}
