// task: relu
// rule: lanes of a warp that have returned are not waited for (PTX ISA 9.0, 9.7.12.7 "exit")
// status: correct
// gpu: values
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
