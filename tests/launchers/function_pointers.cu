// task: softmax
template <int N>
__global__ void block_sum(const float* x, float* y, int cols) { y[0] = x[0] + N + cols; }
__global__ void simple(const float* x, float* y, int cols) { y[0] = x[0] + cols; }
using Kernel = void (*)(const float*, float*, int);
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  auto kernel = block_sum<256>;
  kernel<<<rows, 256, 0, stream>>>(x, y, cols);
  kernel = cols > 200 ? block_sum<512> : block_sum<128>;
  kernel<<<rows, 128, 0, stream>>>(x, y, cols);
  Kernel chosen = &simple;
  if (rows % 2) chosen = block_sum<64>;
  chosen<<<rows, 64, 0, stream>>>(x, y, cols);
  void (*other)(const float*, float*, int) = simple;
  other<<<1, 64, 0, stream>>>(x, y, rows);
  (*other)<<<2, 64, 0, stream>>>(x, y, rows);
}
