#include "app/serve/reward_wish.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::optional<RewardWish> wish_of(const char* reward, std::string* problem = nullptr) {
  RequestFields fields(nlohmann::json::parse(std::string(R"({"reward": )") + reward + "}"));
  auto wish = read_reward_wish(fields);
  const std::string said = fields.problem() ? fields.problem()->body : "";
  if (problem != nullptr) {
    *problem = said;
  } else {
    EXPECT_EQ(said, "");
  }
  return wish;
}

TEST(RewardWish, ANameIsAShape) {
  const auto wish = wish_of(R"("weighted")");
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->shape.name, "weighted");
  EXPECT_FALSE(wish->role);
  EXPECT_FALSE(wish->given);
  EXPECT_FALSE(wish_of("null"));
}

TEST(RewardWish, AnObjectChangesTheShape) {
  const auto wish = wish_of(
      R"({"shape": "weighted", "role": "optimizer", "target": 4, "gate": true, "logarithmic": true,
          "baseline": "pytorch", "weights": {"speed": 0.75}})");
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->role, AgentRole::optimizer);
  EXPECT_EQ(wish->shape.target_speedup, 4);
  EXPECT_TRUE(wish->shape.gate);
  EXPECT_EQ(wish->shape.speed_scale, SpeedScale::logarithmic);
  EXPECT_EQ(wish->shape.baseline, Baseline::pytorch);
  double speed = 0;
  for (const RewardTermSpec& term : wish->shape.terms)
    if (term.kind == RewardTermKind::speed) speed = term.weight;
  EXPECT_EQ(speed, 0.75);
}

TEST(RewardWish, WhatIsWrongIsSaid) {
  for (const auto& [reward, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"3", "must be the name of a shape"},
           {R"("generous")", "generous"},
           {R"({"role": "tester"})", "neither generator nor optimizer"},
           {R"({"weights": {"luck": 1}})", "luck"},
           {R"({"weights": [1]})", "no object"},
           {R"({"weights": {"speed": 1e300}})", "weight"},
           {R"({"target": 0.5})", "target"},
           {R"({"baseline": "library"})", "baseline"},
           {R"({"given": {"status": "correct"}})", "given kernel"},
           {R"({"given": "correct"})", "given kernel"}}) {
    std::string problem;
    wish_of(reward, &problem);
    EXPECT_NE(problem.find(why), std::string::npos) << reward << " " << problem;
    EXPECT_NE(problem.find(R"("param":"reward")"), std::string::npos) << problem;
  }
}

TEST(RewardWish, NoKernelIsNothing) {
  const RewardBreakdown reward = reward_without_kernel(*wish_of(R"("final")"), "words only");
  EXPECT_EQ(reward.total, 0);
  EXPECT_TRUE(reward.judged);
  EXPECT_TRUE(reward.zeroed);
  EXPECT_NE(reward.decision.find("words only"), std::string::npos);
}

}  // namespace
}  // namespace kw
