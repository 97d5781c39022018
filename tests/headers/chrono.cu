#include <chrono>
namespace use_chrono {
__device__ int f(int x) { return x; }
}  // namespace use_chrono
