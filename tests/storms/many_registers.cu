// task: relu
// storm: thousands of values that are alive at the same time
// status: timeout|correct|unsupported|rejected
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[4000];
#pragma unroll
  for (int k = 0; k < 4000; ++k) v[k] = x[(i + k) % n] * k;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 3999; k >= 0; --k) sum = sum * 0.5f + v[k];
  if (i < n) y[i] = sum == 1234.5f ? sum : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 1023) / 1024, 1024, 0, stream>>>(x, y, n);
}
