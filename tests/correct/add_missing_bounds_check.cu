// task: add
__global__ void add_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int threads = 256;
  add_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(a, b, c, n);
}
