#include "base/statistics.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kw {
namespace {

TEST(Statistics, KnownSamples) {
  const std::vector<double> samples{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(mean(samples), 2.5);
  EXPECT_DOUBLE_EQ(median(samples), 2.5);
  EXPECT_NEAR(standard_deviation(samples), 1.2909944, 1e-6);
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 1.75);
}

// An interval that claims 95 % must hold the truth about that often.
TEST(Statistics, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int hits = 0;
  const int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial));
    std::vector<double> samples;
    for (int i = 0; i < 40; ++i) samples.push_back(10 + random.normal());
    const Interval found =
        bootstrap_interval(samples, [](const std::vector<double>& s) { return median(s); }, 0.95, 300);
    hits += found.low <= 10 && 10 <= found.high;
  }
  EXPECT_GT(hits, 0.90 * trials);
  EXPECT_LT(hits, 0.995 * trials);
}

TEST(Statistics, BootstrapIsReproducible) {
  const std::vector<double> samples{1, 2, 3, 5, 8, 13};
  const auto once = bootstrap_interval(samples, [](const auto& s) { return mean(s); });
  const auto twice = bootstrap_interval(samples, [](const auto& s) { return mean(s); });
  EXPECT_EQ(once.low, twice.low);
  EXPECT_EQ(once.high, twice.high);
}

}  // namespace
}  // namespace kw
