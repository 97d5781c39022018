// task: softmax
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float top = -3.0e38f;
  for (int c = threadIdx.x; c < cols; c += 32) top = fmaxf(top, x[(size_t)row * cols + c]);
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float* cache = y + (size_t)row * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float e = expf(x[(size_t)row * cols + c] - top);
    cache[c] = e;
    sum += e;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)row * cols + c] = cache[c] / sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
