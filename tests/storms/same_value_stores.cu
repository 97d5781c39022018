// task: relu
// storm: all threads store the same value to the same place
// status: timeout|race|correct
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float one;
  for (int k = 0; k < 100000; ++k) one = 1.0f;
  __syncthreads();
  if (i < n) y[i] = fmaxf(x[i], one < 0 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
