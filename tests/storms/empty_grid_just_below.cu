// task: relu
// storm: empty grids that each stay below the limit of a launch
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void nothing() {}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  for (int i = 0; i < 100; ++i) nothing<<<300000, 1024, 0, stream>>>();
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
