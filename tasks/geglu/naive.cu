// One thread computes one gated element.
__global__ void geglu(const float* x, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;
  float value = x[row * 2 * cols + col];
  float gate = x[row * 2 * cols + cols + col];
  y[row * cols + col] = value * 0.5f * gate * (1.0f + erff(gate * 0.70710678118654752f));
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const dim3 block(128, 2);
  const dim3 grid((cols + 127) / 128, (rows + 1) / 2);
  geglu<<<grid, block, 0, stream>>>(x, y, rows, cols);
}
