#include <cuda_runtime.h>
namespace use_cuda_runtime_h {
__device__ float4 f(uint x, ushort y, ulong z) { return make_float4(x, y, z, warpSize); }
}  // namespace use_cuda_runtime_h
