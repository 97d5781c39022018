#include "agents/reward/turn_credit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace kw {
namespace {

constexpr double exact = 1e-9;
using Role = AgentRole;

const std::vector<TurnReward> episode{
    {Role::generator, 0.2}, {Role::tester, 9}, {Role::optimizer, 0.5}, {Role::tester, 9}, {Role::optimizer, 0.8}};

TEST(TurnCredit, ImmediateAndFinal) {
  const auto credit = credit_immediate_and_final(episode, 0.9);
  ASSERT_EQ(credit.size(), 5u);
  EXPECT_NEAR(credit[0], 0.3 * 0.2 + 0.7 * 0.9 * std::pow(0.9, 4), exact);
  EXPECT_EQ(credit[1], 0);
  EXPECT_NEAR(credit[2], 0.3 * 0.5 + 0.7 * 0.9 * std::pow(0.9, 2), exact);
  EXPECT_EQ(credit[3], 0);
  EXPECT_NEAR(credit[4], 0.3 * 0.8 + 0.7 * 0.9, exact);
  EXPECT_TRUE(credit_immediate_and_final({}, 1).empty());
  EXPECT_NEAR(credit_immediate_and_final({{Role::generator, 0.4}}, 0.4)[0], 0.4, exact);
}

TEST(TurnCredit, DiscountedSumOfLaterTurns) {
  const auto credit = credit_discounted_later(episode);
  EXPECT_NEAR(credit[0], 0.2 + 0.4 * 0.5 + 0.16 * 0.8, exact);
  EXPECT_NEAR(credit[2], 0.5 + 0.4 * 0.8, exact);
  EXPECT_NEAR(credit[4], 0.8, exact);
  EXPECT_EQ(credit[1], 0);
  EXPECT_TRUE(credit_discounted_later({}).empty());
}

TEST(TurnCredit, LeaveOneOutIsTheFormulaOfRloo) {
  Random random(5);
  std::vector<SampledTurn> turns;
  double mean = 0;
  const int n = 7;
  for (int i = 0; i < n; ++i) {
    turns.push_back({"a", Role::generator, i, random.uniform()});
    mean += turns.back().value / n;
  }
  const auto advantage = advantage_leave_one_out(turns);
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(advantage[i], n / (n - 1.0) * (turns[i].value - mean), exact);
    sum += advantage[i];
  }
  EXPECT_NEAR(sum, 0, exact);
}

TEST(TurnCredit, LeaveOneOutNeverMixesTasksRolesOrOwnTurns) {
  const std::vector<SampledTurn> turns{{"a", Role::generator, 0, 1.0}, {"a", Role::optimizer, 0, 5.0},
                                       {"a", Role::optimizer, 0, 7.0}, {"a", Role::generator, 1, 0.5},
                                       {"a", Role::optimizer, 1, 2.0}, {"b", Role::generator, 2, 100.0},
                                       {"a", Role::tester, 1, 3.0},    {"a", Role::tester, 0, 4.0}};
  const auto advantage = advantage_leave_one_out(turns);
  EXPECT_NEAR(advantage[0], 0.5, exact);
  EXPECT_NEAR(advantage[1], 3.0, exact);  // against the other episode's 2.0 and not its own second turn
  EXPECT_NEAR(advantage[2], 5.0, exact);
  EXPECT_NEAR(advantage[3], -0.5, exact);
  EXPECT_NEAR(advantage[4], 2.0 - 6.0, exact);
  EXPECT_EQ(advantage[5], 0);  // alone with its task
  EXPECT_EQ(advantage[6], 0);
  EXPECT_EQ(advantage[7], 0);
}

}  // namespace
}  // namespace kw
