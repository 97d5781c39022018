// task: relu
// storm: sines, roots and divisions of doubles
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  for (int k = 0; k < 300000; ++k) v = sin(v) + cos(v) / (sqrt(fabs(v)) + 1.0 + k);
  y[i] = v == 1234.5 ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
