// task: row_max_f16
// bug: a row's result goes to the place that a ticket names, so the order of the blocks decides where it lands
// kind: order_dependent|global_race
// status: race
#include <cuda_fp16.h>

__global__ void row_max_kernel(const __half* __restrict__ x, __half* __restrict__ y, int* ticket, int rows, int cols) {
  __shared__ int place;
  const int row = blockIdx.x;
  float best = __half2float(x[(size_t)row * cols]);
  for (int c = threadIdx.x; c < cols; c += 32) best = fmaxf(best, __half2float(x[(size_t)row * cols + c]));
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (threadIdx.x == 0) {
    place = atomicAdd(ticket, 1);  // BUG
    y[place] = __float2half(best);  // BUG
  }
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  int* ticket;
  cudaMallocAsync(&ticket, sizeof(int), stream);
  cudaMemsetAsync(ticket, 0, sizeof(int), stream);
  row_max_kernel<<<rows, 32, 0, stream>>>(x, y, ticket, rows, cols);  // BUG
  cudaFreeAsync(ticket, stream);
}
