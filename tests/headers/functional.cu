#include <functional>
namespace use_functional {
template <class Op>
struct Named {
  static constexpr int value = 3;
};
__device__ int f(int x) { return x + Named<std::plus<int>>::value + Named<std::less<>>::value; }
}  // namespace use_functional
