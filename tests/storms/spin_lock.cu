// task: relu
// storm: a lock that all threads of all blocks fight for
// status: timeout|race|fault
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void fight(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  for (int k = 0; k < 1000; ++k) __threadfence();
  atomicExch(lock, 0);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int* lock;
  cudaMallocAsync(&lock, 4, stream);
  cudaMemsetAsync(lock, 0, 4, stream);
  fight<<<1000, 1024, 0, stream>>>(lock);
  cudaFreeAsync(lock, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
