// One thread writes one output element; blockIdx.y is the row.
__global__ void take_along_last(const float* x, const int* index, float* y, int rows, int cols, int picks) {
  int pick = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (pick >= picks || row >= rows) return;
  y[row * picks + pick] = x[row * cols + index[row * picks + pick]];
}

extern "C" void launch(const float* x, const int* index, float* y, int rows, int cols, int picks, cudaStream_t stream) {
  dim3 block(128);
  dim3 grid((picks + 127) / 128, rows);
  take_along_last<<<grid, block, 0, stream>>>(x, index, y, rows, cols, picks);
}
