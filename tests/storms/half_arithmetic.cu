// task: relu
// storm: conversions between half and float in a loop
// status: timeout
#include <cuda_fp16.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half v = __float2half(x[i]);
  for (int k = 0; k < 3000000; ++k) v = __hfma(v, __float2half(0.5f), __float2half(float(k & 15)));
  y[i] = __half2float(v) == 1234.5f ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
