#include <limits.h>
namespace use_limits_h {
__device__ unsigned long f(int x) { return ULONG_MAX - SHRT_MAX + x; }
}  // namespace use_limits_h
