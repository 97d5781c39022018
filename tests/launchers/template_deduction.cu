// task: softmax
template <class T>
__global__ void fill(T* y, T value, int n) { y[0] = value + n; }
template <class In, class Out>
__global__ void move(const In* __restrict__ x, Out* __restrict__ y, size_t n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  fill<<<rows, 64, 0, stream>>>(y, 1.5f, cols);
  move<<<cols, 64, 0, stream>>>(x, y, rows * cols);
  move<<<cols, 64, 0, stream>>>(reinterpret_cast<const int*>(x), (unsigned char*)y, static_cast<size_t>(rows) * cols);
}
