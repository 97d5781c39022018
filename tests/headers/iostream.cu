#include <iostream>
namespace use_iostream {
__device__ uint32_t f(uint32_t x, std::uint64_t y) { return x + UINT16_MAX + static_cast<uint32_t>(y); }
}  // namespace use_iostream
