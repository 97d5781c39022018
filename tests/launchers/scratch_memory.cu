// task: softmax
__global__ void first(const float* x, float* partial, int n) { partial[0] = x[0] + n; }
__global__ void second(const float* partial, const int* counts, float* y, int n) { y[0] = partial[0] + counts[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int blocks = (cols + 1023) / 1024;
  float* partial;
  int* counts = nullptr;
  cudaMallocAsync((void**)&partial, sizeof(*partial) * rows * blocks, stream);
  cudaMallocAsync(reinterpret_cast<void**>(&counts), rows * sizeof(counts[0]), stream);
  cudaMemsetAsync(counts, 0xFF, rows * sizeof(int), stream);
  first<<<dim3(blocks, rows), 256, 0, stream>>>(x, partial, cols);
  cudaMemcpyAsync(y, partial, sizeof(float) * rows, cudaMemcpyDeviceToDevice, stream);
  second<<<rows, 32, 0, stream>>>(partial + rows, counts, y, blocks);
  cudaFreeAsync(partial, stream);
  cudaFreeAsync(counts, stream);
}
