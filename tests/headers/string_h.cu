#include <string.h>
namespace use_string_h {
__device__ unsigned f(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
}  // namespace use_string_h
