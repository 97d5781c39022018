#include <stdint.h>
namespace use_stdint_h {
__device__ uint64_t f(uint8_t a, int32_t b, uintptr_t c) {
  uint_fast16_t d = INT8_MAX;
  return a + b + c + d + UINT64_MAX;
}
}  // namespace use_stdint_h
