#include <cuda/std/array>
namespace use_cuda_std_array {
__device__ int f(cuda::std::array<int, 3> x) { return x[1] + static_cast<int>(x.size()); }
}  // namespace use_cuda_std_array
