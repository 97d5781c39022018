#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

// One thread computes one element.
__global__ void bias_relu_dropout(const float* x, const float* bias, const int* mask, float scale, float* y, int rows,
                                  int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) {
    int i = row * cols + col;
    float activated = fmaxf(x[i] + bias[col], 0.0f);
    y[i] = mask[i] != 0 ? activated * scale : 0.0f;
  }
}

extern "C" void launch(const float* x, const float* bias, const int* mask, float scale, float* y, int rows, int cols,
                       cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid(CEIL_DIV(cols, 32), CEIL_DIV(rows, 8));
  bias_relu_dropout<<<grid, block, 0, stream>>>(x, bias, mask, scale, y, rows, cols);
}
