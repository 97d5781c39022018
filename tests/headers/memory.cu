#include <memory>
namespace use_memory {
__device__ uint64_t f(uint64_t x) { return x * 3; }
}  // namespace use_memory
