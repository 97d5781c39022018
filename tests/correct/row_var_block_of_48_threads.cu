// task: row_var
__global__ void row_var_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float partial[2];
  const float* in = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += in[c];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  const float mean = (partial[0] + partial[1]) / cols;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (in[c] - mean) * (in[c] - mean);
  for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = (partial[0] + partial[1]) / (cols - 1);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_var_kernel<<<rows, 64, 0, stream>>>(x, y, cols);
}
