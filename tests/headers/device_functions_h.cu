#include <device_functions.h>
namespace use_device_functions_h {
__device__ int f(int x) { return __shfl_xor_sync(0xffffffffu, x, 1) + __popc(x); }
}  // namespace use_device_functions_h
