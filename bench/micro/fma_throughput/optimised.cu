// Four independent chains a thread. Its elements are a block's width apart, so that accesses stay coalesced.
constexpr int steps = 512;
constexpr int threads = 256;
constexpr int chains = 4;

__global__ void chain(const float* x, float* y, int n) {
  const int first = blockIdx.x * (threads * chains) + threadIdx.x;
  float v[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) {
    const int i = first + c * threads;
    v[c] = i < n ? x[i] : 0.0f;
  }
#pragma unroll 32
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int c = 0; c < chains; ++c) v[c] = fmaf(v[c], 0.9990234375f, 0.0009765625f);
  }
#pragma unroll
  for (int c = 0; c < chains; ++c) {
    const int i = first + c * threads;
    if (i < n) y[i] = v[c];
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int each = threads * chains;
  chain<<<(n + each - 1) / each, threads, 0, stream>>>(x, y, n);
}
