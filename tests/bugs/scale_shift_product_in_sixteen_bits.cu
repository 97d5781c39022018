// task: scale_shift_i32
// bug: the product is formed in 16 bits
// kind: wrong_result
// status: wrong
__global__ void scale_kernel(const int* __restrict__ x, int scale, int shift, int* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (short)(x[i] * scale) + shift;  // BUG
}

extern "C" void launch(const int* x, int scale, int shift, int* y, int n, cudaStream_t stream) {
  scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, scale, shift, y, n);
}
