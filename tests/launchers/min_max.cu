// task: softmax
#include <algorithm>
__global__ void k(const float* x, int a, unsigned b, size_t c, float d) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int threads = std::min(1024, std::max(32, (cols + 31) / 32 * 32));
  unsigned blocks = std::min<unsigned>(rows, 65535);
  k<<<blocks, threads, 0, stream>>>(x, min(rows, cols), max(rows, 7u), std::max<size_t>(rows, 100), std::max(0.5f, 1.0f / rows));
  k<<<std::max({1, rows / 2, cols / 3}), 32, 0, stream>>>(x, abs(rows - cols), 1, std::min({10, rows}), fmaxf(rows, cols));
}
