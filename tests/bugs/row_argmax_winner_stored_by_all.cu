// task: row_argmax
// bug: every thread that holds a new maximum stores its index; which store comes last is chance
// kind: shared_race
// status: race
__global__ void argmax_kernel(const float* __restrict__ x, int* __restrict__ y, int cols) {
  __shared__ float best;
  __shared__ int where;
  const float* in = x + (size_t)blockIdx.x * cols;
  if (threadIdx.x == 0) {
    best = in[0];
    where = 0;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    if (in[c] > best) {  // BUG
      best = in[c];      // BUG
      where = c;         // BUG
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = where;
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  argmax_kernel<<<rows, 64, 0, stream>>>(x, y, cols);
}
