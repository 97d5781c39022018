// task: relu
// storm: fast exponentials and logarithms in a loop
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 3000000; ++k) v = __expf(-fabsf(v)) + __logf(fabsf(v) + 2.0f) + __sinf(v) + rsqrtf(v + 3.0f);
  y[i] = v == 1234.5f ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
