#include <limits>
namespace use_limits {
constexpr float lowest = -std::numeric_limits<float>::infinity();
constexpr int most = std::numeric_limits<int>::max();
__device__ float f(float x) { return x > lowest ? most : std::numeric_limits<float>::digits; }
}  // namespace use_limits
