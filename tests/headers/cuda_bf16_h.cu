#include <cuda_bf16.h>
namespace use_cuda_bf16_h {
__device__ float f(__nv_bfloat16 x, nv_bfloat162 y) {
  return __bfloat162float(x + __float2bfloat16(1.0f)) + __low2float(y);
}
}  // namespace use_cuda_bf16_h
