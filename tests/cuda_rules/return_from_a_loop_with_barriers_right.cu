// task: row_sum
// rule: threads that have nothing left to load leave the loop by returning: the barriers of later rounds do not wait for them (CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() waits for all non-exited threads of the block)
// status: correct
// gpu: values
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float tile[128];
  __shared__ float total;
  const int t = threadIdx.x;
  if (t == 0) total = 0.0f;
  __syncthreads();
  for (int first = 0; first < cols; first += 128) {
    if (first + t >= cols && t != 0) return;
    tile[t] = first + t < cols ? x[(size_t)blockIdx.x * cols + first + t] : 0.0f;
    __syncthreads();
    if (t == 0) {
      const int here = min(128, cols - first);
      float sum = total;
      for (int k = 0; k < here; ++k) sum += tile[k];
      total = sum;
    }
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = total;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
