#include <stdlib.h>
namespace use_stdlib_h {
__device__ int f(int x) {
  void* p = malloc(16);
  free(p);
  return abs(x) + RAND_MAX;
}
}  // namespace use_stdlib_h
