// One thread handles one element.
__global__ void mask_fill(const float* x, const int* mask, float value, float* y, int batch, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int sample = blockIdx.z;
  if (sample >= batch || row >= rows || col >= cols) return;
  int i = (sample * rows + row) * cols + col;
  y[i] = mask[row * cols + col] != 0 ? value : x[i];
}

static unsigned ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const int* mask, float value, float* y, int batch, int rows, int cols,
                       cudaStream_t stream) {
  dim3 block(32, 8, 1);
  dim3 grid(ceil_div(cols, 32), ceil_div(rows, 8), batch);
  mask_fill<<<grid, block, 0, stream>>>(x, mask, value, y, batch, rows, cols);
}
