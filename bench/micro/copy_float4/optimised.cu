// One thread copies four elements with one access; the last thread those that are left.
__global__ void copy(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int pack = blockIdx.x * blockDim.x + threadIdx.x;
  if (pack < n / 4) {
    reinterpret_cast<float4*>(y)[pack] = reinterpret_cast<const float4*>(x)[pack];
  } else if (pack == n / 4) {
    for (int i = pack * 4; i < n; ++i) y[i] = x[i];
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  const int packs = n / 4 + 1;
  copy<<<(packs + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
