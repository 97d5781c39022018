// task: softmax
#include <limits>
#include <climits>
__global__ void k(float a, int b, unsigned c, long long d, float e) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(-std::numeric_limits<float>::infinity(), std::numeric_limits<int>::min(), UINT_MAX, LLONG_MAX, std::numeric_limits<float>::lowest());
  k<<<1, 1, 0, stream>>>(INFINITY, INT_MAX - rows, std::numeric_limits<unsigned>::max() + 2, std::numeric_limits<long long>::max(), std::numeric_limits<float>::epsilon());
}
