// task: relu
// storm: every lane touches other lines, so that replaying caches is slow
// status: correct|timeout|unsupported|wrong
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 0;
  unsigned place = i;
  for (int k = 0; k < n / 16; ++k) {
    place = place * 1664525u + 1013904223u;
    v += x[place % n];
  }
  y[i] = v == 1234.5f ? v : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
