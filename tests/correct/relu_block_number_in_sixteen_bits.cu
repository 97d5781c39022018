// task: relu
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const unsigned block = blockIdx.x;
  const int i = block * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
