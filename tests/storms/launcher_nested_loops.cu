// task: relu
// storm: nested loops in the launcher that compute nothing
// status: launcher_error|timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  long long sum = 0;
  for (int i = 0; i < 1000; ++i)
    for (int k = 0; k < 1000; ++k)
      for (int l = 0; l < 1000; ++l) sum += i * k + l;
  if (sum == 42) return;
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
