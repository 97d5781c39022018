#include <stddef.h>
namespace use_stddef_h {
__device__ size_t f(ptrdiff_t x) { return x + sizeof(max_align_t); }
}  // namespace use_stddef_h
