// task: softmax
constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }
template <class T>
constexpr T div_up(T a, T b) { return (a + b - 1) / b; }
template <int N>
constexpr int twice() { return 2 * N; }
__host__ __device__ inline int both(int n) { int s = 0; for (int i = 1; i <= n; ++i) s += i; return s; }
template <int L>
__global__ void k(const float* x, float* y, int n) { y[0] = x[0] + L + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int level = log2_of(1000);
  static_assert(level == 9, "nine");
  k<level><<<div_up(cols, 32), 32, 0, stream>>>(x, y, log2_of(rows * cols));
  k<twice<8>()><<<div_up<long>(cols, 100), 32, 0, stream>>>(x, y, both(rows % 50));
  k<div_up(10, 3)><<<1, 32, 0, stream>>>(x, y, twice<21>());
}
