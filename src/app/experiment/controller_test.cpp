#include "app/experiment/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"

namespace kw {
namespace {

ExperimentDefinition two_arms() {
  ExperimentDefinition definition;
  definition.name = definition.salt = "test";
  definition.arms = {{"control", "old", 0.5}, {"candidate", "new", 0.5}};
  return definition;
}

Standing running(std::size_t arms, std::size_t stage = 0) {
  return {ExperimentState::running, stage, std::vector<bool>(arms), 0};
}

Outcome outcome_of(bool correct, double latency_ms = 1000) {
  Outcome outcome;
  outcome.compiled = outcome.correct = correct;
  if (correct) outcome.speedup = 2;
  outcome.latency_ms = latency_ms;
  return outcome;
}

// Feeds arms in turns, with the share of correct requests that each is given, until something is decided.
struct FedTrial {
  explicit FedTrial(ExperimentDefinition given) : definition(std::move(given)), controller(definition) {}

  std::optional<Transition> feed(int rounds, const std::vector<double>& correct,
                                 const std::vector<double>& latency_ms = {}) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t arm = 0; arm < definition.arms.size(); ++arm) {
        if (standing.stopped[arm]) continue;
        counts.add_user(arm);
        const double time_ms = latency_ms.empty() ? 1000 : latency_ms[arm] * std::exp(0.3 * random.normal());
        counts.add_outcome(arm, standing.stage, outcome_of(random.uniform() < correct[arm], time_ms));
        if (auto transition = controller.decide(standing, counts)) {
          standing = transition->to;
          return transition;
        }
      }
    }
    return {};
  }

  ExperimentDefinition definition;
  Controller controller;
  Standing standing = running(definition.arms.size());
  TrialCounts counts{definition.arms.size(), definition.ramp_percent.size()};
  Random random{5};
};

TEST(Controller, RollsBackAWorseCandidateAndSaysWhy) {
  auto definition = two_arms();
  definition.ramp_percent = {100};
  FedTrial run(definition);
  const auto transition = run.feed(400, {0.9, 0.6});
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->action, "roll back");
  EXPECT_EQ(transition->to.state, ExperimentState::rolled_back);
  EXPECT_NE(transition->reason.find("candidate is worse than correct allows, by more than 0.01"), std::string::npos)
      << transition->reason;
  EXPECT_FALSE(run.controller.decide(run.standing, run.counts)) << "it is over";
  EXPECT_EQ(choose_arm(definition, run.standing, "anybody").arm, 0u);
  EXPECT_FALSE(choose_arm(definition, run.standing, "anybody").takes_part);
}

TEST(Controller, RollsBackACandidateThatTakesLongerAndLeavesAFasterOneAlone) {
  auto definition = two_arms();
  definition.ramp_percent = {100};
  FedTrial slower(definition), faster(definition);
  const auto transition = slower.feed(400, {0.9, 0.9}, {1000, 1600});
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->to.state, ExperimentState::rolled_back);
  EXPECT_NE(transition->reason.find("worse than latency allows"), std::string::npos) << transition->reason;
  const auto other = faster.feed(400, {0.9, 0.9}, {1600, 1000});
  EXPECT_TRUE(!other || other->to.state == ExperimentState::waiting);
}

TEST(Controller, RampsUpWaitsWhereItIsUnsureAndPromotesWhatIsBetter) {
  FedTrial run(two_arms());
  std::vector<std::string> actions;
  std::vector<std::size_t> stages;
  for (int i = 0; i < 20 && is_active(run.standing.state); ++i) {
    const auto transition = run.feed(3000, {0.8, 0.9});
    if (!transition) break;
    actions.push_back(transition->action);
    stages.push_back(transition->to.stage);
  }
  ASSERT_FALSE(actions.empty());
  EXPECT_EQ(run.standing.state, ExperimentState::promoted);
  EXPECT_EQ(run.standing.winner, 1u);
  EXPECT_EQ(actions.back(), "promote");
  EXPECT_EQ(std::ranges::count(actions, "ramp"), 4) << "1 -> 5 -> 25 -> 50 -> 100";
  EXPECT_TRUE(std::ranges::is_sorted(stages));
  EXPECT_EQ(choose_arm(run.definition, run.standing, "anybody").arm, 1u);
}

TEST(Controller, EqualArmsEndUpWaitingNotPromoted) {
  FedTrial run(two_arms());
  while (run.feed(1500, {0.9, 0.9})) ASSERT_TRUE(is_active(run.standing.state));
  EXPECT_EQ(run.standing.state, ExperimentState::waiting);
  EXPECT_EQ(run.standing.stage, 4u);

  auto definition = two_arms();
  definition.promote = PromoteWhen::not_worse;
  FedTrial not_worse(definition);
  while (is_active(not_worse.standing.state) && not_worse.feed(3000, {0.9, 0.9})) continue;
  EXPECT_EQ(not_worse.standing.state, ExperimentState::promoted);

  definition.promote = PromoteWhen::by_hand;
  FedTrial by_hand(definition);
  while (by_hand.feed(1500, {0.7, 0.95})) ASSERT_TRUE(is_active(by_hand.standing.state));
  EXPECT_EQ(by_hand.standing.state, ExperimentState::waiting);
}

TEST(Controller, OneOfTwoCandidatesIsStoppedAndTheOtherGoesOn) {
  auto definition = two_arms();
  definition.arms = {{"control", "old", 0.4}, {"good", "new", 0.3}, {"bad", "newer", 0.3}};
  definition.ramp_percent = {100};
  FedTrial run(definition);
  const auto transition = run.feed(2000, {0.9, 0.9, 0.5});
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->action, "stop arm");
  EXPECT_EQ(transition->to.stopped, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(transition->to.state, ExperimentState::running);
  int bad = 0, good = 0;
  for (int user = 0; user < 3000; ++user) {
    const std::string name = std::to_string(user);
    const ArmChoice before = choose_arm(definition, running(3), name),
                    after = choose_arm(definition, run.standing, name);
    if (before.arm != 2) {
      EXPECT_EQ(before.arm, after.arm) << "nobody else is moved";
      good += after.arm == 1;
    } else {
      ++bad;
      EXPECT_EQ(after.arm, 0u);
      EXPECT_FALSE(after.takes_part) << "the control answers, and is not compared";
    }
  }
  EXPECT_NEAR(bad, 900, 100);
  EXPECT_NEAR(good, 900, 100);
}

TEST(Controller, AWrongSplitMakesItWait) {
  FedTrial run(two_arms());
  for (int user = 0; user < 4000; ++user) run.counts.add_user(user % 5 < 2 ? 0 : 1);
  const auto transition = run.feed(1, {0.9, 0.9});
  ASSERT_TRUE(transition);
  EXPECT_EQ(transition->action, "wait");
  EXPECT_NE(transition->reason.find("sample ratio mismatch"), std::string::npos) << transition->reason;
  EXPECT_FALSE(run.feed(300, {0.9, 0.9})) << "no ramp while the split is wrong";
  const auto rollback = run.feed(400, {0.9, 0.5});
  ASSERT_TRUE(rollback) << "guardrails watch all the same";
  EXPECT_EQ(rollback->to.state, ExperimentState::rolled_back);
}

TEST(Controller, NobodyTakesPartInADraft) {
  const auto definition = two_arms();
  Standing standing = running(2);
  for (const auto state : {ExperimentState::draft, ExperimentState::aborted, ExperimentState::rolled_back}) {
    standing.state = state;
    for (int user = 0; user < 100; ++user) {
      const ArmChoice choice = choose_arm(definition, standing, std::to_string(user));
      EXPECT_EQ(choice.arm, 0u);
      EXPECT_FALSE(choice.takes_part);
    }
    EXPECT_EQ(experiment_state_named(to_string(state)), state);
  }
  EXPECT_FALSE(experiment_state_named("resting"));
}

TEST(Controller, TheCoverageIsThePercentageOfTheStage) {
  const auto definition = two_arms();
  for (std::size_t stage = 0; stage < definition.ramp_percent.size(); ++stage) {
    int part = 0;
    for (int user = 0; user < 20'000; ++user)
      part += choose_arm(definition, running(2, stage), "user-" + std::to_string(user)).takes_part;
    EXPECT_NEAR(part / 200.0, definition.ramp_percent[stage], 1.5);
  }
}

}  // namespace
}  // namespace kw
