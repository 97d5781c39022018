#include <assert.h>
namespace use_assert_h {
__device__ void f(int x) { assert(x >= 0 && "never below zero"); }
}  // namespace use_assert_h
