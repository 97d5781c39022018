#include <cuda/std/functional>
namespace use_cuda_std_functional {
__device__ int f(int x) { return cuda::std::plus<int>()(x, 1); }
}  // namespace use_cuda_std_functional
