// task: row_argmax
// bug: the shuffle names all 32 lanes, but only 16 of them call it
// kind: warp_sync_divergence|warp_sync_mask
// status: fault
__global__ void argmax_kernel(const float* __restrict__ x, int* __restrict__ y, int cols) {
  const int lane = threadIdx.x;
  float best = -INFINITY;
  int where = 0;
  for (int c = lane; c < cols; c += 32) {
    const float value = x[(size_t)blockIdx.x * cols + c];
    if (value > best) {
      best = value;
      where = c;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    if (lane < step * 2) {
      const float other = __shfl_down_sync(0xffffffffu, best, step);       // BUG
      const int other_where = __shfl_down_sync(0xffffffffu, where, step);  // BUG
      if (other > best || (other == best && other_where < where)) {
        best = other;
        where = other_where;
      }
    }
  }
  if (lane == 0) y[blockIdx.x] = where;
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  argmax_kernel<<<rows, 32, 0, stream>>>(x, y, cols);
}
