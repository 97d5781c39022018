// task: relu
static constexpr int kThreads = 256;
constexpr int cdiv(int a, int b) { return (a + b - 1) / b; }
struct Config {
  static constexpr int threads = kThreads;
  static constexpr int items = 4;
  static_assert(threads % 32 == 0, "warps");
};
template <class C>
__global__ void __launch_bounds__(C::threads) relu(const float* x, float* y, int n) {
#pragma unroll
  for (int k = 0; k < C::items; ++k) {
    int i = (blockIdx.x * C::items + k) * C::threads + threadIdx.x;
    if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;
  }
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<Config><<<cdiv(n, Config::threads * Config::items), Config::threads, 0, stream>>>(x, y, n);
}
