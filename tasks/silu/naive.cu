// One thread handles one element.
__global__ void silu(const float* x, float* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = v / (1.0f + expf(-v));
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int threads = 256;
  int blocks = (n - 1) / threads + 1;
  silu<<<blocks, threads, 0, stream>>>(x, y, n);
}
