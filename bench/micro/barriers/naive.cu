// Barriers of 32 warps.
constexpr int pairs = 512;

__global__ void chain(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
#pragma unroll 8
  for (int p = 0; p < pairs; ++p) {
    v = fmaf(v, -0.5f, 0.5f);
    __syncthreads();
    v = fmaf(v, -2.0f, 1.0f);
    __syncthreads();
  }
  if (i < n) y[i] = fmaf(v, -0.5f, 0.5f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 1024;
  chain<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
