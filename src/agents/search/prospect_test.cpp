#include "agents/search/prospect.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

using Order = std::vector<std::size_t>;

TEST(Prospects, WhatIsExpectedToBeFasterComesFirst) {
  EXPECT_EQ(most_promising({{"g", "a", 12}, {"g", "b", 8}, {"g", "c", 10}}, 11, {}, 3), (Order{1, 2, 0}));
  EXPECT_EQ(most_promising({{"g", "a", 120}, {"g", "b", 80}, {"g", "c", 100}}, 11, {}, 2), (Order{1, 2}))
      << "also where nothing is expected to be gained";
}

TEST(Prospects, AKindThatWasNeverRightStandsBack) {
  RightOdds odds;
  for (int i = 0; i < 8; ++i) odds.learn("g", "wrong", false);
  for (int i = 0; i < 8; ++i) odds.learn("g", "good", true);
  EXPECT_LT(odds.right("g", "wrong"), 0.2);
  EXPECT_GT(odds.right("g", "good"), 0.8);
  EXPECT_NEAR(odds.right("g", "new"), 0.5, 0.01) << "as its group";
  EXPECT_NEAR(odds.right("other", "new"), 0.5, 0.01) << "as nothing";
  EXPECT_EQ(most_promising({{"g", "wrong", 5}, {"g", "good", 9}}, 10, odds, 1), Order{1});
  EXPECT_EQ(most_promising({{"g", "wrong", 5}, {"g", "good", 10.9}}, 10, odds, 1), Order{0})
      << "unless there is much more to gain";
}

TEST(Prospects, KindsTakeTurns) {
  EXPECT_EQ(most_promising({{"g", "a", 7}, {"g", "a", 7}, {"g", "a", 7}, {"g", "b", 8}}, 10, {}, 2), (Order{0, 3}));
}

TEST(Prospects, WhatCannotBeBuiltComesLast) {
  EXPECT_EQ(most_promising({{"g", "a", 0, false}, {"g", "b", 500}, {"g", "c", 0}}, 10, {}, 3), (Order{2, 1, 0}));
  EXPECT_EQ(most_promising({{"g", "a", 0, false}}, 10, {}, 3), Order{0}) << "and is all there is";
  EXPECT_TRUE(most_promising({}, 10, {}, 3).empty());
}

}  // namespace
}  // namespace kw
