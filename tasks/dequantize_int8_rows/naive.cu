// One thread writes one element.
__global__ void dequantize(const signed char* q, const float* scale, float* y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) {
    y[row * cols + col] = static_cast<float>(q[row * cols + col]) * scale[row];
  }
}

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

extern "C" void launch(const signed char* q, const float* scale, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid(DIV_UP(cols, 32), DIV_UP(rows, 8));
  dequantize<<<grid, block, 0, stream>>>(q, scale, y, rows, cols);
}
