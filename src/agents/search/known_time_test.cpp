#include "agents/search/known_time.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::shared_ptr<const Verdict> measured(double us, double relative) {
  Verdict verdict;
  verdict.correct = true;
  verdict.time_us = us;
  verdict.time_interval_us = Interval{us * (1 - relative), us * (1 + relative)};
  return std::make_shared<const Verdict>(std::move(verdict));
}

KnownTime time_of(const std::vector<std::shared_ptr<const Verdict>>& verdicts) {
  return measured_time(verdicts).value();
}

TEST(KnownTime, AModelledTimeIsComparedAsItIs) {
  const KnownTime slow = verdict_time(*measured(10, 0.3)).value(), fast = verdict_time(*measured(9.9, 0.3)).value();
  EXPECT_TRUE(clearly_faster(fast, slow));
  EXPECT_FALSE(clearly_faster(slow, fast));
  EXPECT_FALSE(clearly_faster(slow, slow));
  EXPECT_FALSE(undecided(fast, slow)) << "measuring nothing again helps nobody";
}

TEST(KnownTime, IntervalsDecide) {
  const KnownTime a = time_of({measured(10, 0.02)}), b = time_of({measured(9.9, 0.02)}),
                  c = time_of({measured(9, 0.02)});
  EXPECT_FALSE(clearly_faster(b, a));
  EXPECT_TRUE(undecided(b, a));
  EXPECT_FALSE(undecided(a, b)) << "the slower one is no contender";
  EXPECT_FALSE(undecided(time_of({measured(9.97, 0.02)}), a)) << "so little is not worth a measurement";
  EXPECT_TRUE(clearly_faster(c, a));
  EXPECT_FALSE(undecided(c, a));
}

TEST(KnownTime, MeasurementsAddUp) {
  std::vector<std::shared_ptr<const Verdict>> some;
  double width = 1;
  for (int i = 0; i < most_measurements; ++i) {
    some.push_back(measured(i % 2 == 0 ? 10.0 : 10.1, 0.02));
    const KnownTime time = time_of(some);
    const double now = time.interval_us.high - time.interval_us.low;
    EXPECT_LT(now, width);
    EXPECT_GE(time.us, 10.0);
    EXPECT_LE(time.us, 10.1);
    width = now;
  }
  const KnownTime other = time_of(std::vector(most_measurements, measured(10.04, 0.02)));
  EXPECT_FALSE(undecided(other, time_of(some))) << "there is an end to it";
}

TEST(KnownTime, APreciseOneCountsMore) { EXPECT_NEAR(time_of({measured(10, 0.001), measured(20, 0.5)}).us, 10, 0.01); }

TEST(KnownTime, WhatIsWrongHasNoTime) {
  Verdict wrong;
  wrong.time_us = 3;
  EXPECT_FALSE(verdict_time(wrong));
  EXPECT_FALSE(measured_time({measured(10, 0.1), std::make_shared<const Verdict>(wrong)}));
  EXPECT_FALSE(measured_time({}));
}

}  // namespace
}  // namespace kw
