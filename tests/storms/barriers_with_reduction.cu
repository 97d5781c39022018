// task: relu
// storm: barriers that count, by warps that are split
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 1000000; ++k) sum += __syncthreads_count((threadIdx.x * k) & 1);
  if (i < n) y[i] = fmaxf(x[i], sum < 0 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 1023) / 1024, 1024, 0, stream>>>(x, y, n);
}
