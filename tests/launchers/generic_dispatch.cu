// task: softmax
#include <cstdio>
#include <stdexcept>
template <typename T, int THREADS>
__global__ void softmax_rows(const T* __restrict__ x, T* __restrict__ y, int cols) { y[0] = x[0] + THREADS + cols; }
constexpr auto kLimit = 512;
template <typename Kernel>
void run(Kernel kernel, int threads, const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  kernel<<<rows, threads, threads * sizeof(float), stream>>>(x, y, cols);
}
template <typename F>
int apply_twice(int n, F&& f) { return f(f(n)); }
#define DISPATCH(N)                                                    \
  if (cols <= N) {                                                     \
    run(softmax_rows<float, N>, N, x, y, rows, cols, stream);          \
    return;                                                            \
  }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  auto one = [&](auto kernel, int threads) { kernel<<<rows, threads, 0, stream>>>(x, y, cols); };
  one(softmax_rows<float, 32>, 32);
  const int start = [&] { return cols > kLimit ? 1 : 2; }();
  int grown = apply_twice(start, [](int n) { return n * 10 + 1; });
  softmax_rows<float, 64><<<grown, 64, 0, stream>>>(x, y, apply_twice(cols, [&](int n) { return n + rows; }));
  if (cudaError_t e = cudaGetLastError(); e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
  DISPATCH(128)
  DISPATCH(256)
  run(softmax_rows<float, 1024>, 1024, x, y, rows, cols, stream);
}
