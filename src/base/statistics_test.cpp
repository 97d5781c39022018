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
  EXPECT_DOUBLE_EQ(robust_deviation({1, 2, 3, 4, 1000}), 1.4826);
}

TEST(Statistics, StudentIntervalOfTextbookExample) {
  // mean 5, s = 1, n = 4, t(0.975, 3) = 3.18245: half width 1.59122
  const Interval interval = student_interval({5 - 0.8660254, 5 - 0.8660254, 5 + 0.8660254, 5 + 0.8660254});
  EXPECT_NEAR(interval.low, 5 - 1.59122, 1e-4);
  EXPECT_NEAR(interval.high, 5 + 1.59122, 1e-4);
  EXPECT_LT(student_interval({1}).low, -1e300);
}

// An interval that claims 95 % must hold the truth about that often.
TEST(Statistics, IntervalsCoverTheTruthAsOftenAsTheySay) {
  int student_hits = 0, bootstrap_hits = 0, ratio_hits = 0;
  const int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial));
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) {
      a.push_back(10 + random.normal());
      b.push_back(5 + 0.5 * random.normal());
    }
    const Interval student = student_interval(a);
    const Interval boot = bootstrap_interval(a, [](const std::vector<double>& s) { return median(s); }, 0.95, 300);
    const Interval ratio = bootstrap_ratio_interval(a, b, 0.95, 300);
    student_hits += student.low <= 10 && 10 <= student.high;
    bootstrap_hits += boot.low <= 10 && 10 <= boot.high;
    ratio_hits += ratio.low <= 2 && 2 <= ratio.high;
  }
  for (const int hits : {student_hits, bootstrap_hits, ratio_hits}) {
    EXPECT_GT(hits, 0.90 * trials);
    EXPECT_LT(hits, 0.995 * trials);
  }
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
