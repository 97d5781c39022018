#include <string>
namespace use_string {
__device__ uint8_t f(uint8_t x) { return x + INT32_MAX % 7; }
}  // namespace use_string
