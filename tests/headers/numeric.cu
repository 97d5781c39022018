#include <numeric>
namespace use_numeric {
__device__ int f(int x) { return x; }
}  // namespace use_numeric
