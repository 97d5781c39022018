// One thread computes one row.
__global__ void softmax_with_temperature(const float* x, float temperature, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int base = row * cols;
  float top = x[base] / temperature;
  for (int c = 1; c < cols; ++c) top = fmaxf(top, x[base + c] / temperature);
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) {
    float e = expf(x[base + c] / temperature - top);
    y[base + c] = e;
    sum += e;
  }
  for (int c = 0; c < cols; ++c) y[base + c] /= sum;
}

extern "C" void launch(const float* x, float temperature, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 block(32);
  dim3 grid((rows + block.x - 1) / block.x);
  softmax_with_temperature<<<grid, block, 0, stream>>>(x, temperature, y, rows, cols);
}
