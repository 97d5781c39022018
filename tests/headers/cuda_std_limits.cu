#include <cuda/std/limits>
namespace use_cuda_std_limits {
__device__ float f(float x) { return x + cuda::std::numeric_limits<float>::max() + cuda::std::numeric_limits<int>::min(); }
}  // namespace use_cuda_std_limits
