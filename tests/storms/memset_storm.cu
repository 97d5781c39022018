// task: relu
// storm: thousands of memsets of a few megabytes
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char* scratch;
  cudaMallocAsync(&scratch, 64u << 20, stream);
  for (int i = 0; i < 9000; ++i) cudaMemsetAsync(scratch, i, 64u << 20, stream);
  cudaFreeAsync(scratch, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
