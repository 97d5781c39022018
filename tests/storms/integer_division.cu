// task: relu
// storm: divisions and remainders of 64-bit numbers
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = __float_as_uint(x[i]);
  for (int k = 1; k < 3000000; ++k) v = v / (k | 1) + v % (k + 77) + 0x123456789abcdefull;
  y[i] = v == 42 ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
