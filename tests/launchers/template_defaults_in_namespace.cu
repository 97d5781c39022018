// task: softmax
namespace ops {
namespace detail {
constexpr int width = 8;
template <int W = width, class T = float>
__global__ void go(const T* x, T* y, int n) { y[0] = x[0] + W + n; }
}  // namespace detail
using detail::go;
__global__ void plain(float* y, long n) { y[0] = n; }
inline int blocks(int n) { return (n + detail::width - 1) / detail::width; }
}  // namespace ops
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  ops::detail::go<><<<ops::blocks(rows), ops::detail::width, 0, stream>>>(x, y, cols);
  ops::detail::go<16><<<ops::blocks(cols), 16, 0, stream>>>(x, y, cols);
  ops::plain<<<1, 1, 0, stream>>>(y, rows);
}
