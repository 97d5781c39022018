#include <cassert>
namespace use_cassert {
__device__ void f(int x) { assert(x >= 0); }
}  // namespace use_cassert
