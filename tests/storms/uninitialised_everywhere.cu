// task: relu
// storm: every branch depends on what nobody has written
// status: fault|timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float room[1024];
  float v = 0;
  for (int k = 0; k < 1000000; ++k) v += room[(k + threadIdx.x) & 1023] > 0.5f ? 1.0f : 0.0f;
  if (v > 3.0f && i < n) y[i] = v;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
