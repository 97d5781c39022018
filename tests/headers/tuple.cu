#include <tuple>
namespace use_tuple {
__device__ int f(int x) { return x + sizeof(std::pair<char, int>); }
}  // namespace use_tuple
