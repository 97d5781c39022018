#include "agents/program/device_functions.h"

#include <array>
#include <utility>

namespace kw::program {
namespace {

// A NaN stays one, as in PyTorch; a NaN is also the greatest and the least for an index.
constexpr std::pair<std::string_view, std::string_view> functions[] = {
    {"lesser(", R"(// NaN where one of both is.
template <class T>
__device__ T lesser(T a, T b) {
  return a != a || a < b ? a : b;
}
)"},
    {"greater(", R"(// NaN where one of both is.
template <class T>
__device__ T greater(T a, T b) {
  return a != a || a > b ? a : b;
}
)"},
    {"is_greater(",
     R"(// Whether a at place i comes before b at place j: the greater, the first of equal ones; NaN is the greatest.
template <class T>
__device__ bool is_greater(T a, int i, T b, int j) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return a_nan;
  return a > b || ((a == b || a_nan) && i < j);
}
)"},
    {"is_less(",
     R"(// Whether a at place i comes before b at place j: the less, the first of equal ones; NaN is the least.
template <class T>
__device__ bool is_less(T a, int i, T b, int j) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan != b_nan) return a_nan;
  return a < b || ((a == b || a_nan) && i < j);
}
)"},
    {"floor_quotient(", R"(// Rounds down.
template <class T>
__device__ T floor_quotient(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
)"},
    {"floor_rest(", R"(// Has the sign of b.
__device__ float floor_rest(float a, float b) {
  const float rest = fmodf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ double floor_rest(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <class T>
__device__ T floor_rest(T a, T b) {
  const T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
)"},
    {"whole_power(", R"(template <class T>
__device__ T whole_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  T made = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) made *= base;
    base *= base;
  }
  return made;
}
)"},
    {"sign_of(", R"(template <class T>
__device__ T sign_of(T a) {
  return a != a ? a : (T)((a > 0) - (a < 0));
}
)"},
    {"frexp_exponent(", R"(template <class T>
__device__ int frexp_exponent(T a) {
  int exponent = 0;
  frexp(a, &exponent);
  return exponent;
}
)"},
};

bool is_word(char c) { return c == '_' || (c >= 'a' && c <= 'z'); }

}  // namespace

std::string device_functions(std::string_view text) {
  std::array<bool, std::size(functions)> called{};
  for (std::size_t open = text.find('('); open != std::string_view::npos; open = text.find('(', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    const std::string_view word = text.substr(begin, open + 1 - begin);
    for (std::size_t i = 0; i < called.size() && word.size() > 1; ++i)
      called[i] = called[i] || functions[i].first == word;
  }
  std::string made;
  for (std::size_t i = 0; i < called.size(); ++i)
    if (called[i]) made.append(functions[i].second) += "\n";
  return made;
}

}  // namespace kw::program
