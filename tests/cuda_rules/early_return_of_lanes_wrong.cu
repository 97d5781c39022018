// task: relu
// rule: threads pass around a barrier in conditional code and go on behind it (PTX ISA 9.0, 9.7.13.1 "bar, barrier")
// status: fault|timeout
// kind: barrier_divergence|barrier_deadlock
// gpu: none
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, float* copy, int n) {
  __shared__ float tile[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  float value = 0.0f;
  if (i < n) {
    tile[threadIdx.x] = x[i];
    __syncthreads();
    value = fmaxf(tile[threadIdx.x], 0.0f);
  }
  copy[i] = value;
  if (i < n) y[i] = value;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int blocks = (n + 127) / 128;
  float* copy;
  cudaMallocAsync(&copy, (size_t)blocks * 128 * sizeof(float), stream);
  relu_kernel<<<blocks, 128, 0, stream>>>(x, y, copy, n);
  cudaFreeAsync(copy, stream);
}
