#include "agents/search/round_plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kw {
namespace {

constexpr auto generator = static_cast<std::size_t>(SearchOperator::generator);
constexpr auto optimizer = static_cast<std::size_t>(SearchOperator::optimizer);
constexpr auto constants = static_cast<std::size_t>(SearchOperator::constants);

OperatorStandings all_enabled() {
  OperatorStandings standings;
  for (const std::size_t i : {generator, optimizer, constants}) standings[i].enabled = true;
  return standings;
}

std::int64_t sum(const RoundShares& shares) { return std::accumulate(shares.begin(), shares.end(), std::int64_t{0}); }

TEST(RoundPlan, SharesAddUpToTheRound) {
  OperatorStandings standings = all_enabled();
  for (std::int64_t count = 0; count <= 40; ++count) {
    standings[optimizer].verdicts = 3 * count;
    standings[constants].leads = count;
    const RoundShares shares = round_shares(standings, count, true, true);
    EXPECT_EQ(sum(shares), count);
    for (const std::int64_t share : shares) EXPECT_GE(share, 0);
  }
}

TEST(RoundPlan, FirstTheGeneratorThenWhoeverCan) {
  EXPECT_EQ(round_shares(all_enabled(), 16, false, false), (RoundShares{0, 16, 0, 0}));
  const RoundShares wrong = round_shares(all_enabled(), 16, false, true);
  EXPECT_EQ(wrong[constants], 0);
  EXPECT_EQ(wrong[generator] + wrong[optimizer], 16);
  EXPECT_GT(round_shares(all_enabled(), 16, true, true)[constants], 0);
}

TEST(RoundPlan, WhoFindsSomethingGetsMoreAndNobodyIsForgotten) {
  OperatorStandings standings = all_enabled();
  for (const std::size_t i : {generator, optimizer, constants}) standings[i].verdicts = 50;
  standings[constants].bests = standings[constants].leads = 10;
  const RoundShares shares = round_shares(standings, 16, true, true);
  EXPECT_GT(shares[constants], shares[generator] + shares[optimizer]);
  EXPECT_GE(shares[generator], 2);
  EXPECT_GE(shares[optimizer], 2);
}

TEST(RoundPlan, WhoIsOffProposesNothing) {
  OperatorStandings standings = all_enabled();
  standings[optimizer].enabled = standings[constants].enabled = false;
  EXPECT_EQ(round_shares(standings, 16, true, true), (RoundShares{0, 16, 0, 0}));
  EXPECT_EQ(sum(round_shares({}, 16, true, true)), 0);
}

TEST(RoundPlan, AnswersThatRepeatThemselvesAreAskedForMoreOften) {
  OperatorStanding standing;
  EXPECT_EQ(standing.answers_a_kernel(), 1);
  standing.answers = 30;
  standing.fresh = 15;
  EXPECT_EQ(standing.answers_a_kernel(), 2);
  standing.fresh = 0;
  EXPECT_EQ(standing.answers_a_kernel(), 4) << "there is an end to it";
}

TEST(RoundPlan, OperatorsHaveNames) {
  for (const char* name : {"given", "generator", "optimizer", "constants"})
    EXPECT_EQ(to_string(search_operator_from_name(name).value()), name);
  EXPECT_FALSE(search_operator_from_name("oracle"));
}

}  // namespace
}  // namespace kw
