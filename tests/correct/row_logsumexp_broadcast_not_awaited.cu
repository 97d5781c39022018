// task: row_logsumexp
__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[128];
  __shared__ float top;
  const float* in = x + (size_t)blockIdx.x * cols;
  float own = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += 128) own = fmaxf(own, in[c]);
  values[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
    float best = values[0];
    for (int t = 1; t < 128; ++t) best = fmaxf(best, values[t]);
    top = best;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += expf(in[c] - top);
  __syncthreads();
  values[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int t = 0; t < 128; ++t) total += values[t];
    y[blockIdx.x] = top + logf(total);
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  logsumexp_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
