// task: add
__global__ void add_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  __shared__ float buffer[64];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int start = blockIdx.x * 64; start < n; start += gridDim.x * 64) {
    if (warp < 2) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
      const int i = start + threadIdx.x;
      buffer[threadIdx.x] = i < n ? a[i] + b[i] : 0.0f;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
      asm volatile("bar.arrive 2, 128;" ::: "memory");
      asm volatile("bar.sync 1, 128;" ::: "memory");
      const int t = threadIdx.x - 64;
      if (start + t < n) c[start + t] = buffer[t];
    }
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  add_kernel<<<4, 128, 0, stream>>>(a, b, c, n);
}
