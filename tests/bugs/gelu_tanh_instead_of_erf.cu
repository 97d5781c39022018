// task: gelu
// bug: the tanh approximation is not what the reference computes
// kind: wrong_result|reduced_precision
// status: wrong
__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));  // BUG
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  gelu_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(x, y, n);
}
