// task: relu
// Extension files begin with torch::zeros: every element has a value before the kernel writes its own.
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float) * n, stream);
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
