// task: row_argmax
// bug: the index is packed into the 8 low bits of a key and wraps around after 256 columns
// kind: wrong_result
// status: wrong
__global__ void argmax_kernel(const float* __restrict__ x, int* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  unsigned long long best = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const unsigned bits = __float_as_uint(x[(size_t)row * cols + c]);
    const unsigned order = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    const unsigned long long key = ((unsigned long long)order << 8) | (255u - (c & 255));  // BUG
    best = key > best ? key : best;
  }
  for (int step = 16; step > 0; step /= 2) {
    const unsigned long long other = __shfl_xor_sync(0xffffffffu, best, step);
    best = other > best ? other : best;
  }
  if (threadIdx.x == 0) y[row] = 255 - (int)(best & 255);  // BUG
}

extern "C" void launch(const float* x, int* y, int rows, int cols, cudaStream_t stream) {
  argmax_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(x, y, rows, cols);
}
