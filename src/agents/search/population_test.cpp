#include "agents/search/population.h"

#include <gtest/gtest.h>

#include <map>

namespace kw {
namespace {

Candidate candidate(int number, double us, std::vector<Strategy> strategies = {},
                    const std::string& limiter = "latency") {
  Verdict verdict;
  verdict.correct = true;
  verdict.limiter = limiter;
  verdict.time_us = us;
  Candidate made;
  made.number = number;
  made.verdict = std::make_shared<const Verdict>(std::move(verdict));
  made.strategies = std::move(strategies);
  made.time = verdict_time(*made.verdict);
  return made;
}

TEST(Population, KeepsTheFastestOfEachPairOfStrategiesAndLimiter) {
  Population population;
  for (int i = 0; i < 10; ++i) population.add(candidate(i, 100 - i));
  EXPECT_EQ(population.size(), most_of_a_niche);
  EXPECT_EQ(population.niches().at(0).members, (std::vector<int>{9, 8, 7, 6}));
  EXPECT_EQ(population.add(candidate(10, 500)), Population::Place::left_out);
  EXPECT_EQ(population.add(candidate(11, 500, {Strategy::tiling})), Population::Place::leads) << "slow, but different";
  EXPECT_EQ(population.add(candidate(12, 500, {}, "issue")), Population::Place::leads) << "limited by something else";
  EXPECT_EQ(population.add(candidate(13, 92.5)), Population::Place::joined);
  EXPECT_EQ(population.niches().size(), 3u);
  EXPECT_EQ(population.fastest(), 9);
}

TEST(Population, OfEqualsTheEarlierOne) {
  Population population;
  population.add(candidate(5, 10));
  population.add(candidate(3, 10));
  EXPECT_EQ(population.fastest(), 3);
  EXPECT_EQ(population.niches().at(0).members, (std::vector<int>{3, 5}));
}

TEST(Population, AMeasurementMovesAMember) {
  Population population;
  population.add(candidate(0, 10));
  Candidate other = candidate(1, 11);
  population.add(other);
  other.time->us = 5;
  population.update(other);
  EXPECT_EQ(population.fastest(), 1);
  other.time.reset();
  population.update(other);
  EXPECT_EQ(population.fastest(), 0);
  EXPECT_FALSE(population.holds(1));
  population.remove(0);
  EXPECT_TRUE(population.empty());
  EXPECT_TRUE(population.niches().empty());
}

TEST(Population, ParentsAreTheBestMostlyAndEveryNicheNowAndThen) {
  Population population;
  population.add(candidate(0, 10, {Strategy::tiling}));
  population.add(candidate(1, 12, {Strategy::vectorised}));
  population.add(candidate(2, 100, {Strategy::unrolled}));
  std::map<int, int> chosen;
  Random random(3);
  for (int i = 0; i < 600; ++i) ++chosen[population.choose(random)];
  EXPECT_GT(chosen[0], chosen[2]);
  EXPECT_GT(chosen[1], chosen[2]);
  EXPECT_GT(chosen[2], 600 * 0.15 / 3 / 2) << "exploration";
}

TEST(Population, TheSameSeedChoosesTheSame) {
  const auto chosen = [] {
    Population population;
    for (int i = 0; i < 8; ++i)
      population.add(candidate(i, 10 + i, i % 2 == 0 ? std::vector{Strategy::tiling} : std::vector<Strategy>{}));
    Random random(5);
    std::vector<int> parents;
    for (int i = 0; i < 50; ++i) parents.push_back(population.choose(random));
    return parents;
  };
  EXPECT_EQ(chosen(), chosen());
}

TEST(Population, NichesAreBounded) {
  Population population;
  for (int i = 0; i < 200; ++i) population.add(candidate(i, 1000 - i, {}, "limiter " + std::to_string(i)));
  EXPECT_EQ(population.niches().size(), most_niches);
  EXPECT_EQ(population.fastest(), 199);
}

}  // namespace
}  // namespace kw
