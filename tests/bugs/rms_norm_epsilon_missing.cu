// task: rms_norm
// bug: epsilon is not added to the mean of the squares
// kind: not_finite|wrong_result|reduced_precision
// status: wrong
__global__ void rms_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                                int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) sum = fmaf(in[c], in[c], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float scale = rsqrtf(sum / cols);  // BUG
  for (int c = threadIdx.x; c < cols; c += 32) y[(size_t)row * cols + c] = in[c] * scale * weight[c];  // BUG
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  rms_norm_kernel<<<(rows + 7) / 8, dim3(32, 8), 0, stream>>>(x, weight, y, rows, cols);
}
