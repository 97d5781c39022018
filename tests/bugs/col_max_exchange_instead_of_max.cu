// task: col_max
// bug: the blocks exchange the result instead of taking the maximum: the last one wins
// kind: order_dependent|wrong_result
// status: race|wrong
__device__ int ordered(float v) {
  const int bits = __float_as_int(v);
  return bits >= 0 ? bits : bits ^ 0x7fffffff;
}

__global__ void max_kernel(const float* __restrict__ x, int* best_of, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float best = x[(size_t)blockIdx.y * cols + c];
  for (int r = blockIdx.y; r < rows; r += gridDim.y) best = fmaxf(best, x[(size_t)r * cols + c]);
  atomicExch(&best_of[c], ordered(best));  // BUG
}

__global__ void finish(const int* __restrict__ best_of, float* __restrict__ y, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const int key = best_of[c];
  y[c] = __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int* best_of;
  cudaMallocAsync(&best_of, cols * sizeof(int), stream);
  cudaMemsetAsync(best_of, 0x80, cols * sizeof(int), stream);
  const int blocks = (cols + 63) / 64;
  max_kernel<<<dim3(blocks, rows < 8 ? rows : 8), 64, 0, stream>>>(x, best_of, rows, cols);
  finish<<<blocks, 64, 0, stream>>>(best_of, y, cols);
  cudaFreeAsync(best_of, stream);
}
