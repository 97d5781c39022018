// One thread computes one row.
__global__ void softmax_rows(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + row * cols;
  float* out = y + row * cols;
  float top = in[0];
  for (int c = 1; c < cols; ++c) top = fmaxf(top, in[c]);
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += expf(in[c] - top);
  for (int c = 0; c < cols; ++c) out[c] = expf(in[c] - top) / sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int threads = 64;
  softmax_rows<<<(rows + threads - 1) / threads, threads, 0, stream>>>(x, y, rows, cols);
}
