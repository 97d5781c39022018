#include <math.h>
namespace use_math_h {
__device__ double f(float x, double y) {
  return sqrt(x) + expf(x) + fmax(y, 2.0) + isnan(x) + isinf(y) + signbit(x) + M_SQRT2 + HUGE_VALF + abs(-3);
}
}  // namespace use_math_h
