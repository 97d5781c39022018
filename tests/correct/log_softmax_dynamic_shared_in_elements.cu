// task: log_softmax
__global__ void log_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  extern __shared__ float row[];
  const size_t start = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 32) row[c] = x[start + c];
  __syncwarp();
  float top = -3.4e38f, sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 32) top = fmaxf(top, row[c]);
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(row[c] - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float shift = top + logf(sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[start + c] = row[c] - shift;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cudaFuncSetAttribute(log_softmax_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, cols * (int)sizeof(float));
  log_softmax_kernel<<<rows, 32, cols * sizeof(float), stream>>>(x, y, cols);
}
