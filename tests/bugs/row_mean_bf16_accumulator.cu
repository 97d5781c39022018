// task: row_mean_bf16
// bug: the sum is kept in bfloat16, which has 8 bits
// kind: reduced_precision|wrong_result
// status: wrong
#include <cuda_bf16.h>

__global__ void row_mean_kernel(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  __nv_bfloat16 sum = __float2bfloat16(0.0f);  // BUG
  for (int c = 0; c < cols; ++c) sum = __hadd(sum, x[(size_t)row * cols + c]);  // BUG
  y[row] = __float2bfloat16(__bfloat162float(sum) / cols);  // BUG
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int cols, cudaStream_t stream) {
  row_mean_kernel<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, cols);
}
