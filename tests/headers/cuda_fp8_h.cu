#include <cuda_fp8.h>
namespace use_cuda_fp8_h {
__device__ float f(__nv_fp8_e4m3 x, float y) { return float(x) + float(__nv_fp8_e5m2(y)); }
}  // namespace use_cuda_fp8_h
