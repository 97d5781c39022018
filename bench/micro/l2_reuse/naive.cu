// One thread for one element. A shift is longer than what the L1 holds, and a multiple of a line.
constexpr int copies = 64;
constexpr int shift = 99968;

__global__ void total(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int step = shift % n;
  float sum = 0.0f;
  int from = i;
#pragma unroll 8
  for (int k = 0; k < copies; ++k) {
    sum += x[from];
    from += step;
    if (from >= n) from -= n;
  }
  y[i] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  total<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
