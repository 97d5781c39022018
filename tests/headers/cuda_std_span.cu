#include <cuda/std/span>
namespace use_cuda_std_span {
__device__ int f(cuda::std::span<int> x) { return x[0] + static_cast<int>(x.size()); }
}  // namespace use_cuda_std_span
