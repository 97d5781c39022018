// task: softmax
#include <type_traits>
template <typename T, int WIDTH>
__global__ void go(const T* x, T* y, int n) { y[0] = x[0] + WIDTH + n; }
template <typename T, bool FAST>
void run(const T* x, T* y, int n, cudaStream_t stream) {
  if constexpr (FAST && std::is_same<T, float>::value) {
    go<T, 4><<<(n + 3) / 4, 64, 0, stream>>>(x, y, n);
  } else if constexpr (std::is_same_v<T, float>) {
    go<T, 1><<<n, 64, 0, stream>>>(x, y, n);
  } else {
    go<T, 2><<<n / 2, 64, 0, stream>>>(x, y, n);
  }
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (int n = rows * cols; n % 4 == 0) {
    run<float, true>(x, y, n, stream);
  } else {
    run<float, false>(x, y, n, stream);
  }
  run<double, true>((const double*)x, (double*)y, 10, stream);
}
