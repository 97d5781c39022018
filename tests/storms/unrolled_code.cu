// task: relu
// storm: a hundred thousand unrolled instructions
// status: timeout|correct|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
#pragma unroll
  for (int k = 0; k < 30000; ++k) v = __fmaf_rn(v, 0.5f + k, x[(i + k) % n]);
  y[i] = v == 1234.5f ? v : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
