// task: col_sum
__global__ void clear(float* y, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) y[c] = 0.0f;
}

__global__ void col_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= cols) return;
  const int first = blockIdx.y * 64;
  const int last = min(first + 64, rows);
  float sum = 0.0f;
  for (int r = first; r < last; ++r) sum += x[(size_t)r * cols + column];
  atomicAdd(&y[column], sum);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  clear<<<(cols + 127) / 128, 128, 0, stream>>>(y, cols);
  col_sum_kernel<<<dim3((cols + 127) / 128, (rows + 63) / 64), 128, 0, stream>>>(x, y, rows, cols);
}
