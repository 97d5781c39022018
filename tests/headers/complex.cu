#include <complex>
namespace use_complex {
__device__ float f(float x) { return x; }
}  // namespace use_complex
