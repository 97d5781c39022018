#include "app/evaluate/rates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace kw {
namespace {

TEST(PassAtK, IsTheShareOfSubsetsWithARightAnswer) {
  EXPECT_DOUBLE_EQ(pass_at_k(10, 0, 5), 0);
  EXPECT_DOUBLE_EQ(pass_at_k(10, 10, 1), 1);
  EXPECT_DOUBLE_EQ(pass_at_k(10, 3, 1), 0.3);
  EXPECT_NEAR(pass_at_k(10, 3, 5), 1 - 21.0 / 252, 1e-12);  // C(7,5) / C(10,5)
  EXPECT_NEAR(pass_at_k(200, 1, 100), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(pass_at_k(5, 2, 4), 1);  // three wrong ones cannot fill four places
  EXPECT_DOUBLE_EQ(pass_at_k(5, 0, 5), 0);
}

// Values of scipy 1.x, binomtest(...).proportion_ci(method="wilson").
TEST(WilsonInterval, EqualsScipy) {
  EXPECT_NEAR(wilson_interval(8, 10).low, 0.4901624715366418, 1e-12);
  EXPECT_NEAR(wilson_interval(8, 10).high, 0.9433178485456248, 1e-12);
  EXPECT_NEAR(wilson_interval(170, 200).low, 0.7939442071583334, 1e-12);
  EXPECT_NEAR(wilson_interval(170, 200).high, 0.89286406437758, 1e-12);
  EXPECT_EQ(wilson_interval(0, 5).low, 0);
  EXPECT_EQ(wilson_interval(5, 5).high, 1);
  EXPECT_GT(wilson_interval(5, 5).low, 0.5);
  EXPECT_EQ(wilson_interval(0, 0).high, 1);
}

TEST(WilsonInterval, HoldsTheTruthAsOftenAsItSays) {
  Random random(3);
  int held = 0;
  for (int run = 0; run < 2000; ++run) {
    std::int64_t right = 0;
    for (int i = 0; i < 60; ++i) right += random.uniform() < 0.85;
    const Interval interval = wilson_interval(right, 60);
    held += interval.low <= 0.85 && 0.85 <= interval.high;
  }
  EXPECT_NEAR(held / 2000.0, 0.95, 0.02);
}

TEST(GeometricMean, IsTheMeanOfRatios) {
  EXPECT_NEAR(geometric_mean({2, 8}), 4, 1e-12);
  EXPECT_NEAR(geometric_mean({0.5, 2}), 1, 1e-12);
  EXPECT_EQ(geometric_mean({}), 0);
}

TEST(TaskBootstrap, AnswersOfATaskStayTogether) {
  // Twenty tasks with ten answers each that are all alike: 20 things are known, not 200.
  std::vector<TaskValues> alike, independent;
  for (int task = 0; task < 20; ++task) alike.push_back(TaskValues(10, task % 2));
  for (int answer = 0; answer < 200; ++answer) independent.push_back({static_cast<double>(answer % 2)});
  const RateEstimate of_tasks = estimated_share(alike), of_answers = estimated_share(independent);
  EXPECT_EQ(of_tasks.value, 0.5);
  EXPECT_EQ(of_answers.value, 0.5);
  const double wide = of_tasks.interval.high - of_tasks.interval.low,
               narrow = of_answers.interval.high - of_answers.interval.low;
  EXPECT_GT(wide, 2.5 * narrow);
  EXPECT_LT(wide, 4 * narrow);
  // Everything right: still not certain.
  EXPECT_LT(estimated_share(std::vector<TaskValues>(5, TaskValues{1, 1})).interval.low, 0.9);
}

TEST(TaskBootstrap, GeometricMeanOfSpeedups) {
  Random random(5);
  std::vector<TaskValues> tasks;
  for (int i = 0; i < 200; ++i) tasks.push_back({std::exp(0.7 + 0.5 * random.normal())});
  tasks.emplace_back();  // a task without a right answer
  const RateEstimate estimate = estimated_geometric_mean(tasks);
  EXPECT_NEAR(estimate.value, std::exp(0.7), 0.15);
  EXPECT_LT(estimate.interval.low, estimate.value);
  EXPECT_GT(estimate.interval.high, estimate.value);
  // 1.96 * 0.5 / sqrt(200) to each side, in logarithms
  EXPECT_NEAR(std::log(estimate.interval.high / estimate.interval.low), 2 * 0.0693, 0.03);
  EXPECT_EQ(estimated_geometric_mean(tasks).interval.low, estimate.interval.low);
  EXPECT_EQ(estimated_geometric_mean({{}, {}}).value, 0);
}

TEST(FastShare, CountsOverAllAnswers) {
  const std::vector<double> speedups{0.8, 1.0, 1.3, 2.5};
  EXPECT_DOUBLE_EQ(fast_share(speedups, 10, 1), 0.2);
  EXPECT_DOUBLE_EQ(fast_share(speedups, 10, 2), 0.1);
  EXPECT_DOUBLE_EQ(fast_share({}, 0, 1), 0);
}

}  // namespace
}  // namespace kw
