#include <vector>
namespace use_vector {
__device__ int f(int x) { return x + sizeof(uint); }
}  // namespace use_vector
