#include <cuComplex.h>
namespace use_cuComplex_h {
__device__ cuFloatComplex f(cuFloatComplex x) { return cuCmulf(x, make_cuFloatComplex(1.0f, 2.0f)); }
}  // namespace use_cuComplex_h
