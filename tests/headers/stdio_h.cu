#include <stdio.h>
namespace use_stdio_h {
__device__ void f(int x) { if (x == 12346) printf("%s %f\n", "x", 1.0 * x); }
}  // namespace use_stdio_h
