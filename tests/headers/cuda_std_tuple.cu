#include <cuda/std/tuple>
namespace use_cuda_std_tuple {
__device__ int f(int x) { return cuda::std::get<0>(cuda::std::make_tuple(x, 2.0f)); }
}  // namespace use_cuda_std_tuple
