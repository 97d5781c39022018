#include <cuda.h>
namespace use_cuda_h {
static_assert(CUDA_VERSION >= 13000, "");
__device__ uint32_t f(CUdeviceptr p) { return p % 16; }
}  // namespace use_cuda_h
