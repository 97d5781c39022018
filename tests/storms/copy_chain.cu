// task: relu
// storm: a chain of copies from one large buffer to another and back
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char *a, *b;
  cudaMallocAsync(&a, 128u << 20, stream);
  cudaMallocAsync(&b, 128u << 20, stream);
  cudaMemsetAsync(a, 0, 128u << 20, stream);
  for (int i = 0; i < 4000; ++i) {
    cudaMemcpyAsync(b, a, 128u << 20, cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyAsync(a, b, 128u << 20, cudaMemcpyDeviceToDevice, stream);
  }
  cudaFreeAsync(a, stream);
  cudaFreeAsync(b, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
