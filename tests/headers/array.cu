#include <array>
namespace use_array {
struct Sizes {
  std::array<int, 4> values;
};
__device__ int f(Sizes s) { return *reinterpret_cast<const int*>(&s.values) + std::tuple_size<std::array<int, 4>>::value; }
}  // namespace use_array
