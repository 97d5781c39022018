// task: relu
// storm: thousands of launches, each with many blocks
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  for (int i = 0; i < 9900; ++i) relu<<<20000, 256, 0, stream>>>(x, y, n);
}
