#include "app/experiment/trial_counts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw {
namespace {

Outcome counted(bool correct, std::optional<double> latency_ms = {}) {
  Outcome outcome;
  outcome.compiled = outcome.correct = correct;
  outcome.latency_ms = latency_ms;
  return outcome;
}

TEST(TrialCounts, PairsInTheOrderInWhichOutcomesCame) {
  TrialCounts counts(2, 1);
  counts.add_outcome(0, 0, counted(true));
  counts.add_outcome(0, 0, counted(false));
  EXPECT_EQ(counts.against_control(1).gains(Metric::correct).count(), 0) << "the candidate has not answered yet";
  counts.add_outcome(1, 0, counted(false));
  EXPECT_EQ(counts.against_control(1).gains(Metric::correct).mean(), -1) << "against the first of the control";
  counts.add_outcome(1, 0, counted(true));
  EXPECT_EQ(counts.against_control(1).gains(Metric::correct).mean(), 0) << "against the second";
  EXPECT_EQ(counts.against_control(1).gains(Metric::latency).count(), 0) << "nobody measured it";
  EXPECT_EQ(counts.arm(0).average(Metric::correct), 0.5);
  EXPECT_TRUE(std::isnan(counts.arm(0).average(Metric::latency)));
}

TEST(TrialCounts, AControlIsAPartnerForEveryCandidate) {
  TrialCounts counts(3, 1);
  counts.add_outcome(2, 0, counted(true, 2000));
  counts.add_outcome(0, 0, counted(false, 1000));
  counts.add_outcome(1, 0, counted(false, 500));
  EXPECT_EQ(counts.against_control(2).gains(Metric::correct).mean(), 1);
  EXPECT_EQ(counts.against_control(1).gains(Metric::correct).mean(), 0);
  EXPECT_NEAR(counts.against_control(2).gains(Metric::latency).mean(), -0.5, 1e-12);
  EXPECT_NEAR(counts.against_control(1).gains(Metric::latency).mean(), 0.5, 1e-12);
  EXPECT_NEAR(counts.arm(2).average(Metric::latency), 2000, 1e-9);
}

TEST(TrialCounts, WhatWaitsForAPartnerIsBoundedAndTheOldestGoes) {
  TrialCounts counts(2, 1);
  for (std::size_t i = 0; i < ArmComparison::most_unpaired + 50; ++i) counts.add_outcome(0, 0, counted(i >= 50));
  for (std::size_t i = 0; i < ArmComparison::most_unpaired; ++i) counts.add_outcome(1, 0, counted(true));
  const GainCounts& gains = counts.against_control(1).gains(Metric::correct);
  EXPECT_EQ(gains.count(), static_cast<std::int64_t>(ArmComparison::most_unpaired));
  EXPECT_EQ(gains.mean(), 0) << "the fifty that failed were dropped";
  EXPECT_EQ(counts.arm(0).outcomes, static_cast<std::int64_t>(ArmComparison::most_unpaired + 50))
      << "but are in the totals";
}

TEST(TrialCounts, CountsRequestsByStage) {
  TrialCounts counts(2, 3);
  counts.add_outcome(1, 0, counted(true));
  counts.add_outcome(1, 2, counted(true));
  counts.add_outcome(1, 2, counted(true));
  EXPECT_EQ(counts.arm(1).outcomes_at_stage, (std::vector<std::int64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace kw
