// task: bias_add
__global__ void bias_add_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y,
                                int count, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] + bias[i % cols];
}

extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  const int count = rows * cols;
  const int threads = 256;
  int blocks = (count + threads - 1) / threads;
  if (blocks == 0) blocks = 1;
  bias_add_kernel<<<blocks, threads, 0, stream>>>(x, bias, y, count, cols);
}
