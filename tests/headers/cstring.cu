#include <cstring>
namespace use_cstring {
__device__ void f(float* to, const float* from) {
  memcpy(to, from, 16);
  memset(to + 4, 0, 4 + strlen("four"));
}
}  // namespace use_cstring
