#include <cstdlib>
namespace use_cstdlib {
__device__ int f(int x) { return std::abs(x) + abs(x) + EXIT_FAILURE; }
}  // namespace use_cstdlib
