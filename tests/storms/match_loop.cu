// task: relu
// storm: match and redux in a loop
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = threadIdx.x;
  for (int k = 0; k < 1000000; ++k) {
    v += __match_any_sync(0xffffffffu, v & 7);
    v += __reduce_add_sync(0xffffffffu, v);
  }
  if (i < n) y[i] = fmaxf(x[i], v == 1234567 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
