#include "model/arithmetic/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/arithmetic/test_numbers.h"

namespace kw {
namespace {

TEST(AdamW, FollowsTheFormula) {
  ThreadTeam team(2);
  const std::int64_t size = 61;
  auto p = test_numbers(size, 1);
  std::vector<float> m(size), v(size);
  std::vector<double> exact_p(p.begin(), p.end()), exact_m(size), exact_v(size);
  for (std::int64_t step = 1; step <= 5; ++step) {
    const auto g = test_numbers(size, 10 + static_cast<unsigned>(step));
    adamw(team, {.learning_rate = 0.01f, .weight_decay = 0.1f, .step = step, .gradient_scale = 0.5f}, p, g, m, v);
    for (std::int64_t i = 0; i < size; ++i) {
      const double scaled = 0.5 * g[i];
      exact_m[i] = 0.9 * exact_m[i] + 0.1 * scaled;
      exact_v[i] = 0.95 * exact_v[i] + 0.05 * scaled * scaled;
      const double m_hat = exact_m[i] / (1 - std::pow(0.9, static_cast<double>(step)));
      const double v_hat = exact_v[i] / (1 - std::pow(0.95, static_cast<double>(step)));
      exact_p[i] = exact_p[i] * (1 - 0.01 * 0.1) - 0.01 * m_hat / (std::sqrt(v_hat) + 1e-8);
      EXPECT_NEAR(p[i], exact_p[i], 1e-6);
    }
  }
}

TEST(AdamW, UnitsAndTeamsAgree) {
  for (const std::int64_t size : {1, 15, 33, 20001}) {
    const auto g = test_numbers(size, 3);
    int threads = 0;
    expect_equal_on_all_units(
        [&] {
          ThreadTeam team(1 + threads++ % 2);
          auto p = test_numbers(size, 4), m = test_numbers(size, 5), v = test_numbers(size, 6);
          for (float& value : v) value *= value;
          adamw(team, {.learning_rate = 0.01f, .weight_decay = 0.1f, .step = 3}, p, g, m, v);
          p.insert(p.end(), m.begin(), m.end());
          p.insert(p.end(), v.begin(), v.end());
          return p;
        },
        std::to_string(size));
  }
}

}  // namespace
}  // namespace kw
