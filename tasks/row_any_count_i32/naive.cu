// One thread tests one element and adds it to the count of its row.
__global__ void count_above(const int* x, int threshold, int* count, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (row < rows && col < cols && x[row * cols + col] > threshold) atomicAdd(&count[row], 1);
}

extern "C" void launch(const int* x, int threshold, int* count, int rows, int cols, cudaStream_t stream) {
  const int threads = 256;
  cudaMemsetAsync(count, 0, rows * sizeof(int), stream);
  dim3 grid((cols + threads - 1) / threads, rows);
  count_above<<<grid, threads, 0, stream>>>(x, threshold, count, rows, cols);
}
