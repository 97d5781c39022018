#include "agents/search/measuring_filter.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Candidate modelled(double us, std::vector<Strategy> strategies = {}) {
  Verdict verdict;
  verdict.correct = true;
  if (us > 0) verdict.time_us = us;
  Candidate made;
  made.verdict = std::make_shared<const Verdict>(std::move(verdict));
  made.strategies = std::move(strategies);
  made.time = verdict_time(*made.verdict);
  return made;
}

std::vector<double> chosen(const MeasuringFilter& filter, const std::vector<Candidate>& fresh, double best_us,
                           double factor, std::int64_t most = 100) {
  std::vector<FilteredKernel> right;
  for (const Candidate& each : fresh) right.push_back({&each, -1});
  std::vector<double> times;
  for (const Candidate* each : filter.promising(right, best_us, factor, most))
    times.push_back(each->time ? each->time->us : 0);
  return times;
}

TEST(MeasuringFilter, OnlyWhatMayBeNearTheBestIsMeasured) {
  MeasuringFilter filter;
  filter.learn(modelled(10), -1, 10, 10);
  EXPECT_EQ(chosen(filter, {modelled(9), modelled(14), modelled(16), modelled(100)}, 10, 1.5),
            (std::vector<double>{9, 14}));
  EXPECT_EQ(chosen(filter, {modelled(9), modelled(100)}, 10, 0), (std::vector<double>{9, 100})) << "no filter";
}

TEST(MeasuringFilter, TheModelsErrorIsLearnedForEachStrategy) {
  MeasuringFilter filter;
  filter.learn(modelled(10, {Strategy::tiling}), -1, 10, 20);
  filter.learn(modelled(10), -1, 10, 10);
  EXPECT_DOUBLE_EQ(filter.expected_us({Strategy::tiling}, -1, 5), 10);
  EXPECT_DOUBLE_EQ(filter.expected_us({}, -1, 5), 5);
  EXPECT_DOUBLE_EQ(filter.expected_us({Strategy::atomics}, -1, 2), 3) << "of others, the median";
  EXPECT_EQ(chosen(filter, {modelled(9, {Strategy::tiling}), modelled(9)}, 10, 1.5), std::vector<double>{9});
}

TEST(MeasuringFilter, TheFirstOfItsKindIsMeasuredHoweverSlowTheModelSaysItIs) {
  MeasuringFilter filter;
  filter.learn(modelled(10), -1, 10, 10);
  const std::vector<Candidate> fresh{modelled(400, {Strategy::tiling}), modelled(300, {Strategy::tiling}),
                                     modelled(200)};
  EXPECT_EQ(chosen(filter, fresh, 10, 1.5), std::vector<double>{300});
}

TEST(MeasuringFilter, BeforeAnythingIsMeasuredTheFastestAreAndWhatHasNoModel) {
  EXPECT_EQ(chosen({}, {modelled(10), modelled(12), modelled(90), modelled(0)}, 0, 1.5),
            (std::vector<double>{0, 10, 12}));
  EXPECT_TRUE(chosen({}, {}, 0, 1.5).empty());
}

TEST(MeasuringFilter, AFamilyHasItsOwnError) {
  MeasuringFilter filter;
  filter.learn(modelled(10), 3, 10, 20);
  filter.learn(modelled(10), 4, 10, 10);
  filter.learn(modelled(10), 4, 10, 10);
  EXPECT_DOUBLE_EQ(filter.expected_us({}, 3, 5), 10);
  EXPECT_DOUBLE_EQ(filter.expected_us({}, 4, 5), 5);
  EXPECT_DOUBLE_EQ(filter.expected_us({}, 5, 5), 5) << "by its strategies";
}

TEST(MeasuringFilter, OfEqualsThoseOfAnotherFamilyComeFirst) {
  MeasuringFilter filter;
  filter.learn(modelled(10), 3, 10, 10);
  const Candidate known = modelled(10), other = modelled(10.2), slow = modelled(11);
  const auto first = filter.promising({{&known, 3}, {&other, 4}, {&slow, 5}}, 10, 1.5, 3);
  EXPECT_EQ(first, (std::vector<const Candidate*>{&other, &known, &slow}));
}

TEST(MeasuringFilter, WhereFewMayBeMeasuredTheMostPromisingAre) {
  MeasuringFilter filter;
  filter.learn(modelled(10), -1, 10, 10);
  const std::vector<Candidate> fresh{modelled(11), modelled(9), modelled(12, {Strategy::tiling}), modelled(10)};
  EXPECT_EQ(chosen(filter, fresh, 10, 1.5, 3), (std::vector<double>{12, 9, 10})) << "what is new has more hope";
  EXPECT_TRUE(chosen(filter, fresh, 10, 1.5, 0).empty());
  EXPECT_EQ(chosen(filter, fresh, 10, 0, 0).size(), 4u) << "without a filter everything";
}

}  // namespace
}  // namespace kw
