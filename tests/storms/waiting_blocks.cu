// task: relu
// storm: blocks that wait for a flag which the last of them sets
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void wait(volatile int* flag, int blocks) {
  extern __shared__ int room[];
  room[threadIdx.x] = 0;
  if (blockIdx.x == blocks - 1) *flag = 1;
  while (*flag == 0) {
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int* flag;
  cudaMallocAsync(&flag, 4, stream);
  cudaMemsetAsync(flag, 0, 4, stream);
  cudaFuncSetAttribute(wait, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
  wait<<<100000, 1024, 200 << 10, stream>>>(flag, 100000);
  cudaFreeAsync(flag, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
