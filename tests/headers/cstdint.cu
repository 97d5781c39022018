#include <cstdint>
namespace use_cstdint {
__device__ unsigned long long f(const std::uint8_t* p, int64_t n) {
  static_assert(sizeof(uint16_t) == 2 && sizeof(std::uint64_t) == 8 && UINT32_MAX == 4294967295u, "");
  long* same_as_on_the_host = &n;
  return *same_as_on_the_host + p[0] + reinterpret_cast<uintptr_t>(p) % 16 + UINT64_C(7) + INT16_MAX;
}
}  // namespace use_cstdint
