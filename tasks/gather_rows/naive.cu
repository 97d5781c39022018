// One thread copies one element of the output.
__global__ void gather_rows(const float* x, const int* index, float* y, int cols, int picks) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= picks * cols) return;
  int pick = i / cols;
  int col = i % cols;
  y[i] = x[index[pick] * cols + col];
}

extern "C" void launch(const float* x, const int* index, float* y, int rows, int cols, int picks, cudaStream_t stream) {
  const int threads = 256;
  const int blocks = (picks * cols + threads - 1) / threads;
  gather_rows<<<blocks, threads, 0, stream>>>(x, index, y, cols, picks);
}
