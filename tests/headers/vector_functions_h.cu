#include <vector_functions.h>
namespace use_vector_functions_h {
__device__ uint2 f(unsigned x) { return make_uint2(x, 1u); }
}  // namespace use_vector_functions_h
