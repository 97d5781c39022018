// task: relu
// storm: sixteen different slow kernels at full size
// status: correct|timeout|unsupported|wrong|rejected
__global__ void relu(const float* x, float* y, int n, int salt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 0;
  unsigned place = i + salt;
  for (int k = 0; k < n / 1000; ++k) {
    place = place * 1664525u + 1013904223u;
    v += x[place % n];
  }
  y[i] = v == 1234.5f ? v : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int times = n > 1000000 ? 9000 : 2;
  for (int i = 0; i < times; ++i) relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, i);
}
