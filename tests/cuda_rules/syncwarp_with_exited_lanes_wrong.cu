// task: row_sum
// rule: lanes that have exited have written nothing that __syncwarp() could make visible (PTX ISA 9.0, 9.7.13.2 "bar.warp.sync")
// status: fault
// kind: uninitialised_output
// gpu: none
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[32];
  const int t = threadIdx.x;
  if (t >= 24) return;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 24) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  __syncwarp();
  if (t == 0) {
    for (int k = 1; k < 32; ++k) sum += values[k];
    y[blockIdx.x] = sum;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 32, 0, stream>>>(x, y, cols);
}
