// task: relu
// storm: a grid that is large in every dimension
// status: launcher_error|timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void nothing() {}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  nothing<<<dim3(60000, 60000, 60000), 1, 0, stream>>>();
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
