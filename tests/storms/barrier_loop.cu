// task: relu
// storm: a million barriers
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 1000000; ++k) __syncthreads();
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 1023) / 1024, 1024, 0, stream>>>(x, y, n);
}
