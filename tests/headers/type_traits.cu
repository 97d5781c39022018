#include <type_traits>
namespace use_type_traits {
template <class T, class = std::enable_if_t<std::is_floating_point<T>::value>>
__device__ T half_of(T x) {
  return x / 2;
}
template <class T>
struct Wide {
  using type = typename std::conditional<sizeof(T) < 4, float, typename std::remove_cv<T>::type>::type;
};
__device__ float f(const float x) {
  std::aligned_storage<sizeof(float), alignof(float)>::type place;
  std::aligned_storage_t<16> wider;
  std::decay_t<decltype(x)> y = std::is_same<Wide<char>::type, float>::value ? half_of(x) : 0;
  static_assert(std::is_trivially_copyable<float4>::value && std::is_integral_v<int> && std::is_unsigned_v<unsigned>, "");
  static_assert(std::is_same_v<std::common_type_t<int, float>, float> && !std::is_pointer_v<int>, "");
  static_assert(std::is_same_v<std::make_unsigned_t<int>, unsigned> && std::is_convertible_v<int, float>, "");
  return y + sizeof(place) + alignof(decltype(wider)) + std::integral_constant<int, 3>::value + std::true_type::value;
}
}  // namespace use_type_traits
