#include <cmath>
namespace use_cmath {
__device__ float f(float x, double y) {
  float s = std::sqrt(x) + std::exp(x) + std::pow(x, 2.0f) + std::fabs(x) + std::tanh(x) + std::fmax(x, -INFINITY);
  return std::isnan(x) || std::isinf(y) || isfinite(x) ? NAN : s + M_PI * std::floor(y) + std::abs(-x);
}
}  // namespace use_cmath
