// task: softmax
// bug: a thread reads what other threads of its block have put into global scratch, without a barrier in between
// kind: global_race
// status: race
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, float* sums, int cols) {
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float* own = sums + blockIdx.x * 64;
  float top = in[0], sum = 0.0f;
  for (int c = 1; c < cols; ++c) top = fmaxf(top, in[c]);
  for (int c = threadIdx.x; c < cols; c += 64) sum += expf(in[c] - top);
  own[threadIdx.x] = sum;  // BUG
  float total = 0.0f;
  for (int t = 0; t < 64; ++t) total += own[t];  // BUG
  for (int c = threadIdx.x; c < cols; c += 64) out[c] = expf(in[c] - top) / total;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  float* sums;
  cudaMallocAsync(&sums, (size_t)rows * 64 * sizeof(float), stream);
  softmax_kernel<<<rows, 64, 0, stream>>>(x, y, sums, cols);
  cudaFreeAsync(sums, stream);
}
