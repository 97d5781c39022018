// task: relu
// storm: the loop is as long as the input, so that only full sizes are slow
// status: correct|timeout|unsupported|wrong
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < n / 64; ++k) v = v * 0.999f + 0.001f;
  y[i] = v == 1234.5f ? v : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
