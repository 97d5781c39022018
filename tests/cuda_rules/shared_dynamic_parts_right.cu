// task: row_sum
// rule: the parts of a dynamic array must be aligned to what they hold by whoever divides it (CUDA C++ Programming Guide, "__shared__")
// status: correct
// gpu: values
// Two arrays share the dynamic memory; the second one holds 8-byte numbers.
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  extern __shared__ float memory[];
  float* last = memory;  // 129 of them
  double* parts = reinterpret_cast<double*>(memory + 130);
  const float* row = x + (size_t)blockIdx.x * cols;
  double sum = 0.0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += row[c];
  last[threadIdx.x] = 0.0f;
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = (float)parts[0] + last[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 130 * sizeof(float) + 128 * sizeof(double), stream>>>(x, y, rows, cols);
}
