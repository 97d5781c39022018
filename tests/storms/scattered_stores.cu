// task: relu
// storm: stores to a page of its own each, at full size only
// status: correct|timeout|rejected|unsupported|wrong|fault
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
  const int pages = n / 1024;
  for (int k = i; k < pages; k += 997) y[k * 1024] = fmaxf(x[k * 1024], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
