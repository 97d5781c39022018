// One thread handles one element; rows run along the grid's y axis.
__global__ void sigmoid(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || col >= cols) return;
  int i = row * cols + col;
  y[i] = 1.0f / (1.0f + expf(-x[i]));
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int threads = 256;
  dim3 grid((cols + threads - 1) / threads, rows);
  sigmoid<<<grid, threads, 0, stream>>>(x, y, rows, cols);
}
