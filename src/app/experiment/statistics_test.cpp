// The evidence that decides an experiment: betting, sample ratios, and how requests become gains.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/experiment/betting.h"
#include "app/experiment/metric.h"
#include "app/experiment/sample_ratio.h"
#include "base/random.h"

namespace kw {
namespace {

double mean_evidence(Claim claim, double bound, std::int64_t observations,
                     const std::vector<std::pair<double, double>>& distribution) {
  // Expected capital after n observations, exactly, by enumerating multinomial counts of three values.
  const MeanBet bet(claim, bound);
  double expected = 0;
  for (std::int64_t first = 0; first <= observations; ++first)
    for (std::int64_t second = 0; first + second <= observations; ++second) {
      const std::int64_t third = observations - first - second;
      GainCounts counts;
      for (std::int64_t i = 0; i < first; ++i) counts.add(distribution[0].first);
      for (std::int64_t i = 0; i < second; ++i) counts.add(distribution[1].first);
      for (std::int64_t i = 0; i < third; ++i) counts.add(distribution[2].first);
      const auto log_choose = std::lgamma(observations + 1.0) - std::lgamma(first + 1.0) - std::lgamma(second + 1.0) -
                              std::lgamma(third + 1.0);
      const double log_probability = log_choose + static_cast<double>(first) * std::log(distribution[0].second) +
                                     static_cast<double>(second) * std::log(distribution[1].second) +
                                     static_cast<double>(third) * std::log(distribution[2].second);
      expected += std::exp(log_probability + bet.log_evidence(counts));
    }
  return expected;
}

TEST(Betting, CapitalIsAFairGameWhenTheClaimIsJustWrong) {
  // The mean is exactly the bound, -0.05: 0.10 - 0.15.
  const std::vector<std::pair<double, double>> fair = {{-1, 0.15}, {0, 0.75}, {1, 0.10}};
  EXPECT_NEAR(mean_evidence(Claim::below, -0.05, 40, fair), 1, 1e-9);
  EXPECT_NEAR(mean_evidence(Claim::above, -0.05, 40, fair), 1, 1e-9);
  const std::vector<std::pair<double, double>> better = {{-1, 0.05}, {0, 0.75}, {1, 0.20}};
  EXPECT_LT(mean_evidence(Claim::below, -0.05, 40, better), 1);
  EXPECT_GT(mean_evidence(Claim::above, -0.05, 40, better), 1);
}

TEST(Betting, RoundingIsNeverEvidence) {
  GainCounts between, on_grid;
  for (int i = 0; i < 1000; ++i) {
    between.add(-0.0001);  // rounded up to 0 for "below", down to -1/128 for "above"
    on_grid.add(0);
  }
  EXPECT_DOUBLE_EQ(MeanBet(Claim::below, 0).log_evidence(between), MeanBet(Claim::below, 0).log_evidence(on_grid));
  EXPECT_LT(MeanBet(Claim::above, -0.02).log_evidence(between), MeanBet(Claim::above, -0.02).log_evidence(on_grid));
}

TEST(Betting, AConfidenceSequenceShrinksAroundTheMeanAndHoldsItAtEveryLook) {
  int left = 0;
  constexpr int experiments = 100;
  for (int experiment = 0; experiment < experiments; ++experiment) {
    Random random(7, static_cast<std::uint64_t>(experiment));
    GainCounts counts;
    bool held = true;
    for (int i = 1; i <= 600; ++i) {
      counts.add(random.uniform() < 0.3 ? -1.0 : random.uniform(0.0, 1.0));  // mean 0.05
      if (i % 60 != 0) continue;
      const Interval interval = confidence_sequence(counts, 0.1);
      held = held && interval.low <= 0.05 && 0.05 <= interval.high;
    }
    left += !held;
    const Interval last = confidence_sequence(counts, 0.1);
    EXPECT_LT(last.high - last.low, 0.4);
    EXPECT_LE(last.low, counts.mean());
    EXPECT_GE(last.high, counts.mean());
  }
  EXPECT_LE(left, experiments / 10);
  const Interval nothing_known = confidence_sequence(GainCounts(), 0.05);
  EXPECT_EQ(nothing_known.low, -1);
  EXPECT_EQ(nothing_known.high, 1);
}

TEST(SampleRatio, EvidenceIsAFairGameForTheRightWeights) {
  const std::vector<double> weights = {0.3, 0.7};
  double expected = 0;
  constexpr int users = 60;
  for (int first = 0; first <= users; ++first) {
    const double log_choose = std::lgamma(users + 1.0) - std::lgamma(first + 1.0) - std::lgamma(users - first + 1.0);
    expected += std::exp(log_choose + first * std::log(0.3) + (users - first) * std::log(0.7) +
                         sample_ratio_log_evidence({first, users - first}, weights));
  }
  EXPECT_NEAR(expected, 1, 1e-9);
}

TEST(SampleRatio, FindsWhatIsOffAndLeavesAloneWhatIsNot) {
  EXPECT_TRUE(sample_ratio_is_off({10'400, 9'600}, {0.5, 0.5}));
  EXPECT_FALSE(sample_ratio_is_off({10'050, 9'950}, {1, 1}));
  EXPECT_FALSE(sample_ratio_is_off({0, 0}, {0.5, 0.5}));
  EXPECT_FALSE(sample_ratio_is_off({100}, {1}));
  EXPECT_TRUE(sample_ratio_is_off({200, 0}, {0.5, 0.5})) << "an arm that nobody reaches";
  EXPECT_FALSE(sample_ratio_is_off({8'000, 2'000, 10'000}, {0.4, 0.1, 0.5}));
  EXPECT_TRUE(sample_ratio_is_off({8'000, 2'600, 10'000}, {0.4, 0.1, 0.5}));
}

TEST(Metric, GainsAreBetterWhenPositive) {
  Outcome good, bad;
  good.compiled = good.correct = true;
  good.speedup = 2;
  good.latency_ms = 1000;
  bad.error = true;
  bad.latency_ms = 2000;
  const MetricValues of_good = values_of(good), of_bad = values_of(bad);
  const auto gain = [&](Metric metric) {
    const auto index = static_cast<std::size_t>(metric);
    return gain_of(metric, of_good[index], of_bad[index]);
  };
  EXPECT_EQ(gain(Metric::error), 1);
  EXPECT_EQ(gain(Metric::compile), 1);
  EXPECT_EQ(gain(Metric::correct), 1);
  EXPECT_NEAR(gain(Metric::speedup), 0.5, 1e-12) << "without a correct kernel the speedup is 1";
  EXPECT_NEAR(gain(Metric::latency), 0.5, 1e-12) << "half the time, of a factor of four at most";
  EXPECT_TRUE(std::isnan(gain(Metric::tokens))) << "nobody counted them";
  EXPECT_EQ(gain_of(Metric::latency, std::log(100.0), 0), -1) << "bounded";
  Outcome odd;
  odd.latency_ms = -1;
  odd.turns = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(values_of(odd)[static_cast<std::size_t>(Metric::latency)]));
  EXPECT_TRUE(std::isnan(values_of(odd)[static_cast<std::size_t>(Metric::turns)]));
}

TEST(Metric, ChangesAndGainsAreTheSameThingOnTwoScales) {
  for (const auto& facts : all_metrics()) {
    EXPECT_EQ(metric_named(facts.name), facts.metric);
    for (const double change : {-0.5, -0.05, 0.0, 0.05, 0.9})
      EXPECT_NEAR(change_from_gain(facts.metric, gain_from_change(facts.metric, change)), change, 1e-12) << facts.name;
  }
  EXPECT_NEAR(gain_from_change(Metric::latency, 0.1), std::log(1.1) / std::log(4.0), 1e-12);
  EXPECT_EQ(gain_from_change(Metric::latency, 10), 1);
  EXPECT_EQ(metric_named("latencies"), std::nullopt);
}

}  // namespace
}  // namespace kw
