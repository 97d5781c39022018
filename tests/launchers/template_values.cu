// task: softmax
template <int BLOCK, bool WIDE>
__global__ void reduce(const float* x, float* y, int cols) { y[0] = x[0] + BLOCK + WIDE + cols; }
constexpr int kSmall = 128;
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols <= kSmall) {
    reduce<kSmall, sizeof(float) == 8><<<rows, kSmall, 0, stream>>>(x, y, cols);
  } else if (cols <= 4 * kSmall) {
    reduce<2 * kSmall, true><<<rows, 2 * kSmall, 0, stream>>>(x, y, cols);
  } else {
    reduce<(kSmall << 2), (kSmall > 100)><<<rows, kSmall << 2, 0, stream>>>(x, y, cols);
  }
}
