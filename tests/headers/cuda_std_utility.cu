#include <cuda/std/utility>
namespace use_cuda_std_utility {
__device__ int f(int x) { return cuda::std::pair<int, int>(x, 2).second + cuda::std::move(x); }
}  // namespace use_cuda_std_utility
