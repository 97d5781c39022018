// task: add
// bug: the last block runs past the end of the arrays, because nothing compares the index with n
// kind: out_of_bounds
// status: fault
__global__ void add_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];  // BUG
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int threads = 256;
  add_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(a, b, c, n);
}
