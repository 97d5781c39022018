constexpr int kThreads = 512;

// One thread adds one pair of whole numbers.
__global__ void add_ints(const int* a, const int* b, int* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}

extern "C" void launch(const int* a, const int* b, int* c, int n, cudaStream_t stream) {
  add_ints<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(a, b, c, n);
}
