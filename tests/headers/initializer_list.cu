#include <initializer_list>
namespace use_initializer_list {
__device__ int f(int x) {
  for (int i : {1, 2, 3}) x += i;
  return x;
}
}  // namespace use_initializer_list
