// task: mse_sum
// bug: the blocks add to an output that nobody has set to zero
// kind: uninitialised_output
// status: fault
__global__ void mse_kernel(const float* __restrict__ x, const float* __restrict__ target, float* loss, int count) {
  __shared__ float partial[8];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float d = x[i] - target[i];
    sum = fmaf(d, d, sum);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int w = 0; w < 8; ++w) total += partial[w];
    atomicAdd(loss, total);  // BUG
  }
}

extern "C" void launch(const float* x, const float* target, float* loss, int count, cudaStream_t stream) {
  mse_kernel<<<24, 256, 0, stream>>>(x, target, loss, count);
}
