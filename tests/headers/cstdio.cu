#include <cstdio>
namespace use_cstdio {
__device__ void f(int x) { if (x == 12345) printf("%d\n", x); }
}  // namespace use_cstdio
