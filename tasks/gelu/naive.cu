// One thread handles one element.
__global__ void gelu_erf(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  constexpr int threads = 256;
  const int blocks = n / threads + (n % threads != 0 ? 1 : 0);
  gelu_erf<<<blocks, threads, 0, stream>>>(x, y, n);
}
