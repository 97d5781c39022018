// task: softmax
template <typename T, typename Acc = double, unsigned N = 4>
__global__ void convert(const T* x, T* y, Acc scale, int n) { y[0] = x[0] + T(scale) + T(N) + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int n = rows * cols;
  convert<float><<<(n + 255) / 256, 256, 0, stream>>>(x, y, 2.5, n);
  convert<float, float, 8u><<<(n + 255) / 256, 256, 0, stream>>>(x, y, 2.5, n);
  convert<float, int><<<1, 32, 0, stream>>>(x, y, 'a', n);
}
