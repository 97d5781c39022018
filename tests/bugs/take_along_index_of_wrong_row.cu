// task: take_along
// bug: the index of a row is taken with the stride of x instead of that of the index
// kind: out_of_bounds|wrong_result
// status: fault|wrong
__global__ void take_kernel(const float* __restrict__ x, const int* __restrict__ index, float* __restrict__ y, int rows,
                            int cols, int picks) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * picks) return;
  const int row = i / picks, pick = i % picks;
  const int column = index[row * cols + pick];  // BUG
  y[i] = x[(size_t)row * cols + column];  // BUG
}

extern "C" void launch(const float* x, const int* index, float* y, int rows, int cols, int picks, cudaStream_t stream) {
  take_kernel<<<(rows * picks + 127) / 128, 128, 0, stream>>>(x, index, y, rows, cols, picks);
}
