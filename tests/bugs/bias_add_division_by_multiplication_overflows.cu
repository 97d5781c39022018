// task: bias_add
// bug: the product that replaces a division by cols overflows 32 bits
// kind: out_of_bounds|wrong_result
// status: fault|wrong
__global__ void bias_add_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y,
                                int count, int cols, int magic) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int row = (i * magic) >> 26;  // BUG
  y[i] = x[i] + bias[i - row * cols];  // BUG
}

extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  const int count = rows * cols;
  bias_add_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x, bias, y, count, cols, (1 << 26) / cols + 1);
}
