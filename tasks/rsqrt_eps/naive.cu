// One thread handles one element.
__global__ void rsqrt_with_eps(const float* x, float eps, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = rsqrtf(x[i] + eps);
}

extern "C" void launch(const float* x, float eps, float* y, int n, cudaStream_t stream) {
  constexpr int threads = 192;
  dim3 block(threads, 1, 1);
  dim3 grid((n + threads - 1) / threads, 1, 1);
  rsqrt_with_eps<<<grid, block, 0, stream>>>(x, eps, y, n);
}
