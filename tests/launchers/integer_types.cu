// task: softmax
#include <cstdint>
__global__ void k(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, char i, long long j) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  std::size_t n = std::size_t(rows) * cols;
  std::int64_t wide = static_cast<std::int64_t>(rows) * 3000000000LL;
  uint8_t small = static_cast<uint8_t>(rows * 3);
  small += 250;
  int16_t half = 1000 * 30;
  k<<<1, 1, 0, stream>>>(rows * 1.5f > 127 ? 127 : rows, small, half, 65535 + cols, wide >> 8, wide, wide, n - 1, 'q', -5);
  k<<<1, 1, 0, stream>>>(-1, 255, -2, -3, 2147483647, 4294967295, INT64_MIN, UINT64_MAX, '\n', n);
}
