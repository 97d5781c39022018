#include <float.h>
namespace use_float_h {
__device__ float f(float x) { return x < FLT_MAX ? FLT_MIN : DBL_EPSILON; }
}  // namespace use_float_h
