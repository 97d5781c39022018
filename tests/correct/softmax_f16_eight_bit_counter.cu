// task: softmax_f16
#include <cuda_fp16.h>

__global__ void softmax_kernel(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const __half* in = x + (size_t)row * cols;
  __half* out = y + (size_t)row * cols;
  float top = __half2float(in[0]), sum = 0.0f;
  for (int c = 1; c < cols; ++c) top = fmaxf(top, __half2float(in[c]));
  for (int c = 0; c < cols; ++c) sum += expf(__half2float(in[c]) - top);
  for (int c = 0; c < cols; ++c) out[c] = __float2half(expf(__half2float(in[c]) - top) / sum);
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, cols);
}
