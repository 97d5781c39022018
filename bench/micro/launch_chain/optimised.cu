// All steps in one kernel: the difference to the naive kernel is three launches.
__global__ void affine(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll
  for (int step = 0; step < 4; ++step) v = v * 0.5f + 1.0f;
  y[i] = v;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  affine<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
