// task: relu
// storm: every access is out of bounds, at full size only, beside many allocations
// status: unsupported|correct|timeout|wrong|fault|rejected
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0;
  for (int k = 0; k < n / 10000; ++k) v += x[2000000000u + i + k * 33];
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char* scratch[1000];
  for (int i = 0; i < 1000; ++i) cudaMallocAsync(&scratch[i], 256, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  for (int i = 0; i < 1000; ++i) cudaFreeAsync(scratch[i], stream);
}
