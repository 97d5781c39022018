// task: row_max_f16
#include <cuda_fp16.h>

__global__ void row_max_kernel(const __half* __restrict__ x, __half* __restrict__ y, int cols) {
  __shared__ float best_of[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float best = __half2float(x[(size_t)blockIdx.x * cols]);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) best = fmaxf(best, __half2float(x[(size_t)blockIdx.x * cols + c]));
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (lane == 0) best_of[warp] = best;
  __syncthreads();
  if (warp == 0) {
    best = best_of[lane < 4 ? lane : 0];
    for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
    if (lane == 0) y[blockIdx.x] = __float2half(best);
  }
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  row_max_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
