// task: add
#include <type_traits>
template <class Accumulate>
__global__ void add_or_copy(const float* a, const float* b, float* c, int n, Accumulate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = Accumulate::value ? a[i] + b[i] : a[i];
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int blocks = (n + 255) / 256;
  if (n < 0) {
    add_or_copy<<<blocks, 256, 0, stream>>>(a, b, c, n, std::false_type{});
  } else {
    add_or_copy<<<blocks, 256, 0, stream>>>(a, b, c, n, std::bool_constant<true>{});
  }
}
