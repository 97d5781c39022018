// task: relu
// rule: threads that store the same value at the same place do no harm, however often they do it (CUDA C++ Programming Guide, "SIMT Architecture": which thread performs the final write is undefined)
// status: correct
// gpu: values
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ int limit;
  for (int round = 0; round < 40; ++round) {
    __syncthreads();
    limit = n;
    __syncthreads();
    for (int i = round * gridDim.x * 256 + blockIdx.x * 256 + threadIdx.x; i < limit; i += 40 * gridDim.x * 256)
      y[i] = fmaxf(x[i], 0.0f);
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<80, 256, 0, stream>>>(x, y, n);
}
