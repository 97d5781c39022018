// task: rms_norm
// bug: the squares are added up in half precision
// kind: reduced_precision
// status: wrong
#include <cuda_fp16.h>

__global__ void rms_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                                int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  __half sum = __float2half(0.0f);  // BUG
  for (int c = 0; c < cols; ++c) sum = __hadd(sum, __float2half(in[c] * in[c]));  // BUG
  const float scale = rsqrtf(__half2float(sum) / cols + 1e-6f);
  for (int c = 0; c < cols; ++c) y[(size_t)row * cols + c] = in[c] * scale * weight[c];  // BUG
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  rms_norm_kernel<<<(rows + 63) / 64, 64, 0, stream>>>(x, weight, y, rows, cols);
}
