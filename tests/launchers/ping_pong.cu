// task: softmax
#include <utility>
#include <algorithm>
__global__ void step(const float* from, float* to, int n) { to[0] = from[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  size_t bytes = size_t(rows) * cols * sizeof(float);
  float *a = nullptr, *b = nullptr;
  cudaMallocAsync(&a, bytes, stream);
  cudaMallocAsync(&b, bytes, stream);
  cudaMemcpyAsync(a, x, bytes, cudaMemcpyDefault, stream);
  for (int i = 0; i < 3; i++) {
    step<<<rows, 32, 0, stream>>>(a, b, i);
    std::swap(a, b);
  }
  cudaMemcpyAsync(y, a, std::min<size_t>(bytes, 1 << 20), cudaMemcpyDeviceToDevice, stream);
  cudaFreeAsync(b, stream);
  cudaFreeAsync(a, stream);
}
