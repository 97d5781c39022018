// One thread copies one element.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  copy<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
