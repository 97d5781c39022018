#include <utility>
namespace use_utility {
template <std::size_t... i>
__device__ int sum(std::index_sequence<i...>) {
  return (0 + ... + static_cast<int>(i));
}
template <class A, class B>
using Sum = decltype(std::declval<A>() + std::declval<B>());
__device__ float f(int a, int b) {
  Sum<int, float> c = std::move(a);
  return c + std::forward<int>(b) + sum(std::make_index_sequence<40>{}) + sizeof(std::pair<int, char>);
}
}  // namespace use_utility
