#include <vector_types.h>
namespace use_vector_types_h {
__device__ int f(int4 x, dim3 y) { return x.w + y.z; }
}  // namespace use_vector_types_h
