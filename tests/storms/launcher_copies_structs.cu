// task: relu
// storm: the launcher copies large structs in a loop
// status: launcher_error|timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

struct Big {
  char bytes[4000];
};

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  Big first{};
  for (int i = 0; i < 1000000; ++i) {
    Big copy = first;
    first = copy;
  }
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
