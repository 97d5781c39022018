// task: relu
// storm: every lane of a warp leaves its loop at another time
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0;
  for (int round = 0; round < 10000; ++round)
    for (int k = 0; k < (threadIdx.x & 31) * 37; ++k) v = v * 0.5f + k;
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
