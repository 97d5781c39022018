#include "kernel/reference/trial_plan.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(TrialPlan, IntervalOfTheMedianHasTheTextbooksRanks) {
  std::vector<double> samples;
  samples.reserve(100);
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  const Interval interval = median_interval(samples);
  EXPECT_EQ(interval.low, 40);  // ranks 40 and 61 of 100
  EXPECT_EQ(interval.high, 61);
  EXPECT_EQ(median_interval({3, 1, 2}).low, 1);
  EXPECT_EQ(median_interval({3, 1, 2}).high, 3);
  EXPECT_EQ(median_interval({5}).low, 5);
}

TEST(TrialPlan, StopsWhenTheMedianIsKnownOrTheBudgetIsSpent) {
  const TimingOptions options{.trials_min = 10, .trials_max = 40, .relative_interval = 0.02, .budget_ms = 100};
  const std::vector<double> quiet(10, 50.0);
  EXPECT_TRUE(trials_are_enough(quiet, 1, options));
  EXPECT_FALSE(trials_are_enough(std::vector<double>(9, 50.0), 1, options));
  std::vector<double> noisy;
  noisy.reserve(40);
  for (int i = 0; i < 39; ++i) noisy.push_back(i % 2 ? 50 : 60);
  EXPECT_FALSE(trials_are_enough(noisy, 1, options));
  EXPECT_TRUE(trials_are_enough(noisy, 100, options));
  noisy.push_back(50);
  EXPECT_TRUE(trials_are_enough(noisy, 1, options));
  EXPECT_FALSE(trials_are_enough({50, 50}, 1000, options));
  EXPECT_TRUE(trials_are_enough({50, 50, 50}, 1000, options));
}

}  // namespace
}  // namespace kw
