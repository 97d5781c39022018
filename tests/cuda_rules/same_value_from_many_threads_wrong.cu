// task: relu
// rule: which of several threads performs the final write is undefined (CUDA C++ Programming Guide, "SIMT Architecture")
// status: race
// kind: shared_race
// gpu: racecheck
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ int limit;
  for (int round = 0; round < 40; ++round) {
    __syncthreads();
    limit = n - (threadIdx.x % 2);
    __syncthreads();
    for (int i = round * gridDim.x * 256 + blockIdx.x * 256 + threadIdx.x; i < limit; i += 40 * gridDim.x * 256)
      y[i] = fmaxf(x[i], 0.0f);
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<80, 256, 0, stream>>>(x, y, n);
}
