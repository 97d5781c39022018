// task: row_max_f16
// bug: with an odd number of columns every second row starts in the middle of a half2
// kind: misaligned
// status: fault
#include <cuda_fp16.h>

__global__ void row_max_kernel(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const __half* in = x + (size_t)row * cols;
  float best = __half2float(in[cols - 1]);
  for (int p = threadIdx.x; p < cols / 2; p += 32) {
    const float2 pair = __half22float2(reinterpret_cast<const __half2*>(in)[p]);  // BUG
    best = fmaxf(best, fmaxf(pair.x, pair.y));
  }
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (threadIdx.x == 0) y[row] = __float2half(best);
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  row_max_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
