// task: col_sum
// bug: the scratch memory is taken to be zero after its allocation
// kind: uninitialised_output
// status: fault
__global__ void add_rows(const float* __restrict__ x, float* __restrict__ sums, int rows, int cols) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= cols) return;
  float sum = 0.0f;
  for (int r = blockIdx.y; r < rows; r += gridDim.y) sum += x[(size_t)r * cols + column];
  atomicAdd(&sums[column], sum);  // BUG
}

__global__ void copy(const float* __restrict__ sums, float* __restrict__ y, int cols) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < cols) y[column] = sums[column];  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  float* sums;
  cudaMallocAsync(&sums, cols * sizeof(float), stream);  // BUG
  const int blocks = (cols + 127) / 128;
  add_rows<<<dim3(blocks, 8), 128, 0, stream>>>(x, sums, rows, cols);
  copy<<<blocks, 128, 0, stream>>>(sums, y, cols);
  cudaFreeAsync(sums, stream);
}
