// task: relu
// storm: many allocations that are alive at the same time
// status: timeout|rejected|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char* scratch[2000];
  for (int i = 0; i < 2000; ++i) cudaMallocAsync(&scratch[i], 1u << 20, stream);
  for (int i = 0; i < 2000; ++i) cudaMemsetAsync(scratch[i], 0, 1u << 20, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  for (int i = 0; i < 2000; ++i) cudaFreeAsync(scratch[i], stream);
}
