#include <cuda/cmath>
namespace use_cuda_cmath {
__device__ int f(int x) { return cuda::ceil_div(x, 32); }
}  // namespace use_cuda_cmath
