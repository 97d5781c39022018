// task: softmax
__global__ void __launch_bounds__(256, 2) bounded(const float* __restrict__ x, float* __restrict__ y, const int n) { y[0] = x[0] + n; }
__global__ __launch_bounds__(128) void other(const float* const x, float* y) { y[0] = x[0]; }
template <int T>
__launch_bounds__(T) __global__ void generic(float* y) { y[0] = T; }
static __global__ void quiet(float* y) { y[0] = 1; }
extern "C" void launch(const float* __restrict__ x, float* __restrict__ y, const int rows, const int cols, cudaStream_t stream) {
  bounded<<<rows, 256, 0, stream>>>(x, y, cols);
  other<<<rows, 128, 0, stream>>>(x, y);
  generic<512><<<rows, 512, 0, stream>>>(y);
  quiet<<<1, 1, 0, stream>>>(y);
}
