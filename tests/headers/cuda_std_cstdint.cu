#include <cuda/std/cstdint>
namespace use_cuda_std_cstdint {
__device__ cuda::std::uint32_t f(cuda::std::int64_t x, uint8_t y) { return x + y; }
}  // namespace use_cuda_std_cstdint
