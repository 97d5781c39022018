#include <climits>
namespace use_climits {
__device__ long f(int x) { return INT_MAX - x + CHAR_BIT + LLONG_MIN + UCHAR_MAX; }
}  // namespace use_climits
