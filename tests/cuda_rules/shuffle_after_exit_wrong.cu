// task: row_sum
// rule: lane 0 takes the value of lane 16, which has exited (PTX ISA 9.0, 9.7.13.6 "shfl.sync": a value from a lane that has exited is undefined)
// status: fault
// kind: warp_sync_divergence
// gpu: none
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  const int t = threadIdx.x;
  if (t >= 16) return;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 16) sum += x[(size_t)blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (t == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 32, 0, stream>>>(x, y, cols);
}
