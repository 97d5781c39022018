#include <cuda/std/bit>
namespace use_cuda_std_bit {
__device__ int f(float x) { return cuda::std::bit_cast<int>(x) + cuda::std::popcount(3u); }
}  // namespace use_cuda_std_bit
