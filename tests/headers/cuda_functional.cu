#include <cuda/functional>
namespace use_cuda_functional {
__device__ int f(int x) { return cuda::maximum<int>()(x, 1); }
}  // namespace use_cuda_functional
