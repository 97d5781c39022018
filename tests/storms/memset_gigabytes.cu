// task: relu
// storm: memset of the same gigabyte, over and over
// status: timeout|rejected
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  char* scratch;
  cudaMallocAsync(&scratch, 1u << 30, stream);
  for (int i = 0; i < 2000; ++i) cudaMemsetAsync(scratch, i, 1u << 30, stream);
  cudaFreeAsync(scratch, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
