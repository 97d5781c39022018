#include <cuda/std/cmath>
namespace use_cuda_std_cmath {
__device__ float f(float x) { return cuda::std::sqrt(x) + cuda::std::isnan(x); }
}  // namespace use_cuda_std_cmath
