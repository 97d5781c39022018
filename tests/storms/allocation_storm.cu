// task: relu
// storm: thousands of allocations of megabytes, freed at once
// status: timeout|rejected|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  for (int i = 0; i < 4900; ++i) {
    char* scratch;
    cudaMallocAsync(&scratch, 32u << 20, stream);
    cudaFreeAsync(scratch, stream);
  }
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
