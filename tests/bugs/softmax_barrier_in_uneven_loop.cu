// task: softmax
// bug: threads pass the barrier in the loop a different number of times when cols is no multiple of the block
// kind: barrier_divergence|barrier_deadlock|shared_race
// status: fault|timeout|race
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[128];
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  const int t = threadIdx.x;
  float top = -INFINITY;
  for (int c = 0; c < cols; ++c) top = fmaxf(top, in[c]);
  values[t] = 0.0f;
  for (int c = t; c < cols; c += 128) {
    const float e = expf(in[c] - top);
    out[c] = e;
    values[t] += e;
    __syncthreads();  // BUG
  }
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();  // BUG
  }
  const float scale = 1.0f / values[0];
  for (int c = t; c < cols; c += 128) out[c] *= scale;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
