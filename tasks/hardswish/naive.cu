// One thread handles one element.
__global__ void hardswish(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    float gate = fminf(fmaxf(v + 3.0f, 0.0f), 6.0f);
    y[i] = v * gate / 6.0f;
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  hardswish<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
