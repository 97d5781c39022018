#include <math_constants.h>
namespace use_math_constants_h {
__device__ float f(float x) { return x * CUDART_PI_F + CUDART_INF_F - CUDART_NAN_F + CUDART_L2E_F; }
}  // namespace use_math_constants_h
