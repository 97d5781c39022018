#include <stdexcept>
namespace use_stdexcept {
__device__ uint16_t f(int x) { return x; }
}  // namespace use_stdexcept
