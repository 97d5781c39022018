#include <algorithm>
namespace use_algorithm {
constexpr int tile = std::max(16, std::min(4, 64));
__device__ int f(int x) { return min(x, tile) + max(x, 3); }
}  // namespace use_algorithm
