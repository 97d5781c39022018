// task: row_mean_bf16
#include <cuda_bf16.h>

__global__ void row_mean_kernel(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += __bfloat162float(x[(size_t)row * cols + c]);
  y[row] = __float2bfloat16(sum / cols);
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int cols, cudaStream_t stream) {
  row_mean_kernel<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, cols);
}
