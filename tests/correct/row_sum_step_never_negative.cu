// task: row_sum_i32
__global__ void row_sum_kernel(const int* __restrict__ x, int* __restrict__ y, int cols) {
  __shared__ int values[128];
  const int t = threadIdx.x;
  int sum = 0;
  for (int c = t; c < cols; c += 128) sum += x[blockIdx.x * cols + c];
  values[t] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half >>= 1) {
    if (t < half) values[t] += values[t + half];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = values[0];
}

extern "C" void launch(const int* x, int* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
