#include <cstddef>
namespace use_cstddef {
struct Pair {
  int a;
  char b;
};
__device__ std::size_t f(std::ptrdiff_t x, std::nullptr_t p) { return offsetof(Pair, b) + x + (p == NULL); }
}  // namespace use_cstddef
