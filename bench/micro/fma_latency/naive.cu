// One warp a block: the multiprocessor has nothing to do while a multiply-add is under way. Every second step undoes
// the one before, so that rounding does not add up.
constexpr int pairs = 4096;

__global__ void chain(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll 16
  for (int p = 0; p < pairs; ++p) {
    v = fmaf(v, -0.5f, 0.5f);
    v = fmaf(v, -2.0f, 1.0f);
  }
  y[i] = fmaf(v, -0.5f, 0.5f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 32;
  chain<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
