// task: softmax
#define LAUNCH(kernel, grid, ...) kernel<<<(grid), 128, 0, stream>>>(__VA_ARGS__)
#define CASE(N)                                             \
  case N:                                                   \
    LAUNCH(fixed<N>, rows, x, y, cols);                     \
    break
#define JOIN(a, b) a##b
#define NAME_OF(n) JOIN(kernel_, n)
template <int N>
__global__ void fixed(const float* x, float* y, int cols) { y[0] = x[0] + N + cols; }
__global__ void NAME_OF(one)(float* y, int n) { y[0] = n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int vector = cols % 4 == 0 ? 4 : cols % 2 == 0 ? 2 : 1;
  switch (vector) {
    CASE(4);
    CASE(2);
    default: LAUNCH(fixed<1>, rows + 1, x, y, cols);
  }
  LAUNCH(kernel_one, 1, y, 5);
}
