#include <cuda/std/type_traits>
namespace use_cuda_std_type_traits {
template <class T>
__device__ cuda::std::enable_if_t<cuda::std::is_floating_point_v<T>, T> f(T x) {
  return x * 2;
}
__device__ float g(float x) { return f(x); }
}  // namespace use_cuda_std_type_traits
