// task: softmax
// bug: exp overflows for large inputs, because the row's maximum is not subtracted
// kind: not_finite
// status: wrong
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float top = in[0];
  for (int c = threadIdx.x; c < cols; c += 32) top = fmaxf(top, in[c]);
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  top = 0.0f;  // BUG
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(in[c] - top);  // BUG
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)row * cols + c] = expf(in[c] - top) / sum;  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
