namespace use_none {
__device__ float f(uint a, ushort b, ulong c, int8_t d, int64_t e, ssize_t g, u_int32_t h) {
  std::size_t n = std::is_same<int, int>::value ? INT_MAX : CHAR_BIT;
  assert(a < n);
  return a + b + c + d + e + g + h + std::exp(1.0f * a) + INFINITY + M_PI + (NULL == nullptr) + std::abs(-2);
}
}  // namespace use_none
