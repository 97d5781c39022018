#include <cfloat>
namespace use_cfloat {
__device__ double f(float x) { return x > -FLT_MAX ? FLT_EPSILON + DBL_MAX : FLT_MIN + FLT_DIG; }
}  // namespace use_cfloat
