#include "learn/rl/guard.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

const StepSigns good{.kl = 0.01, .entropy = 1, .pass_rate = 0.8, .tier = 0, .skipped = false};

// Advice of the last of `steps` equal steps.
GuardAdvice after(CollapseGuard& guard, const StepSigns& signs, int steps) {
  GuardAdvice advice;
  for (int i = 0; i < steps; ++i) advice = guard.look(signs);
  return advice;
}

TEST(CollapseGuard, LeavesAHealthyRunAlone) {
  CollapseGuard guard{GuardOptions{}};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(guard.look(good).action, GuardAction::none);
  EXPECT_EQ(guard.rate_share(), 1);
}

TEST(CollapseGuard, LowersTheRateThenStops) {
  for (const StepSigns bad :
       {StepSigns{.kl = 3, .entropy = 1, .pass_rate = 0.8}, StepSigns{.kl = 0.01, .entropy = 0.01, .pass_rate = 0.8},
        StepSigns{.kl = 0.01, .entropy = 30, .pass_rate = 0.8}, StepSigns{.kl = 0.01, .entropy = 1, .pass_rate = 0},
        StepSigns{.kl = 0.01, .entropy = 1, .pass_rate = 0.8, .skipped = true}}) {
    CollapseGuard guard{GuardOptions{}};
    after(guard, good, 10);
    int cuts = 0;
    GuardAdvice advice;
    for (int i = 0; i < 100 && advice.action != GuardAction::stop; ++i) {
      advice = guard.look(bad);
      cuts += advice.action == GuardAction::lower_rate;
      EXPECT_EQ(advice.action == GuardAction::none, advice.message.empty());
    }
    EXPECT_EQ(advice.action, GuardAction::stop);
    EXPECT_EQ(cuts, 3);
    EXPECT_DOUBLE_EQ(guard.rate_share(), 0.125);
  }
}

TEST(CollapseGuard, OneBadStepIsChance) {
  CollapseGuard guard{GuardOptions{}};
  after(guard, good, 10);
  StepSigns bad = good;
  bad.kl = 5;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(after(guard, bad, 2).action, GuardAction::none);
    EXPECT_EQ(guard.look(good).action, GuardAction::none);
  }
}

TEST(CollapseGuard, AHarderTierMayHaveALowerPassRate) {
  CollapseGuard guard{GuardOptions{}};
  after(guard, good, 20);
  StepSigns harder = good;
  harder.tier = 1;
  harder.pass_rate = 0.1;
  for (int i = 0; i < 30; ++i) EXPECT_EQ(guard.look(harder).action, GuardAction::none);
}

TEST(CollapseGuard, GoesOnFromItsState) {
  CollapseGuard whole{GuardOptions{}}, first{GuardOptions{}};
  StepSigns bad = good;
  bad.kl = 3;
  after(whole, good, 7);
  after(first, good, 7);
  after(whole, bad, 4);
  after(first, bad, 4);
  CollapseGuard second{GuardOptions{}};
  ASSERT_TRUE(second.restore(nlohmann::ordered_json::parse(first.state().dump())).ok());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(second.look(bad).message, whole.look(bad).message);
  EXPECT_EQ(second.state(), whole.state());
  EXPECT_FALSE(second.restore({{"steps", "many"}}).ok());
}

}  // namespace
}  // namespace kw
