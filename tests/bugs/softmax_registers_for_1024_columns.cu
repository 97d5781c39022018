// task: softmax
// bug: 32 lanes with 32 registers each hold 1024 columns; the timed size of 8192 columns is left unfinished
// kind: wrong_at_full_size|unwritten_output|wrong_result|skips_work
// status: wrong
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float own[32];
  float top = -3.4e38f, sum = 0.0f;
  for (int p = 0; p < 32; ++p) {  // BUG
    const int c = threadIdx.x + 32 * p;
    own[p] = c < cols ? in[c] : -3.4e38f;
    top = fmaxf(top, own[p]);
  }
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  for (int p = 0; p < 32; ++p) {
    own[p] = expf(own[p] - top);
    sum += own[p];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int p = 0; p < 32; ++p) {
    const int c = threadIdx.x + 32 * p;
    if (c < cols) y[(size_t)row * cols + c] = own[p] / sum;  // BUG
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);  // BUG
}
