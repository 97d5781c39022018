// One chain of multiply-adds a thread; only the other warps hide its latency.
constexpr int steps = 512;

__global__ void chain(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll 32
  for (int s = 0; s < steps; ++s) v = fmaf(v, 0.9990234375f, 0.0009765625f);
  y[i] = v;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  chain<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
