#include "arithmetic/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kw {
namespace {

std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(Linear, IsOneChainThenBiasThenTheOldValue) {
  ThreadTeam team(2);
  const std::int64_t rows = 5, in = 37, out = 83;
  const auto x = numbers(rows * in, 1), w = numbers(out * in, 2), bias = numbers(out, 3), old = numbers(rows * out, 4);
  std::vector<float> y = old;
  linear(team, {x.data(), in, y.data(), out, rows}, PackedWeight::from_floats(w, out, in), bias.data(), true);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < out; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < in; ++k) sum = std::fma(x[i * in + k], w[j * in + k], sum);
      EXPECT_EQ(y[i * out + j], old[i * out + j] + (sum + bias[j]));
    }
  }
  std::vector<float> unpacked = old;
  linear(team, {x.data(), in, unpacked.data(), out, rows}, w.data(), out, in, bias.data(), true);
  EXPECT_EQ(unpacked, y);
}

}  // namespace
}  // namespace kw
