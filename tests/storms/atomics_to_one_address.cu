// task: relu
// storm: all threads add to one address
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  for (int k = 0; k < 1000000; ++k) atomicAdd(&count, 1);
  __syncthreads();
  if (i < n) y[i] = fmaxf(x[i], count < 0 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
