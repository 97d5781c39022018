// task: softmax
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float top = -3.4e38f, sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = in[c];
    const float next = fmaxf(top, v);
    sum = sum * __expf(top - next) + __expf(v - next);
    top = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, top, step), other_sum = __shfl_xor_sync(0xffffffffu, sum, step);
    const float next = fmaxf(top, other);
    sum = sum * __expf(top - next) + other_sum * __expf(other - next);
    top = next;
  }
  const float scale = __fdividef(1.0f, sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)row * cols + c] = __expf(in[c] - top) * scale;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
