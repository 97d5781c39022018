#include "learn/curriculum/curriculum.h"

#include <gtest/gtest.h>

#include <map>

namespace kw {
namespace {

std::vector<CurriculumTask> tasks() {
  return {{"add", 0}, {"mul", 0}, {"sum", 1}, {"transpose", 1}, {"matmul", 2}, {"fused", 3}};
}

Curriculum make(CurriculumRules rules = four_tiers(), std::uint64_t seed = 1) {
  return Curriculum::make(tasks(), std::move(rules), seed).value();
}

const TaskOutcome right{true, true, 2.0}, wrong{true, false, 0}, broken{false, false, 0};

TEST(Curriculum, GatesNeedBothRatesAndEnoughAnswers) {
  Curriculum curriculum = make();
  for (int i = 0; i < 199; ++i) ASSERT_TRUE(curriculum.record("add", right).ok());
  EXPECT_EQ(curriculum.open_tier(), 0);  // too few
  ASSERT_TRUE(curriculum.record("add", right).ok());
  EXPECT_EQ(curriculum.open_tier(), 1);

  Curriculum low_pass = make();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(low_pass.record("add", i % 4 != 0 ? right : wrong).ok());
  EXPECT_EQ(low_pass.open_tier(), 0);  // exactly 0.75 is not more than 0.75
  Curriculum low_compile = make();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(low_compile.record("add", i % 10 != 0 ? right : broken).ok());
  EXPECT_EQ(low_compile.open_tier(), 0);
}

TEST(Curriculum, OnlyLateAnswersCount) {
  Curriculum curriculum = make();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(curriculum.record("add", broken).ok());
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(curriculum.record("mul", right).ok());
  EXPECT_EQ(curriculum.open_tier(), 1);
}

TEST(Curriculum, SpeedIsPartOfTheOtherRules) {
  Curriculum curriculum = Curriculum::make({{"add", 0}, {"sum", 1}}, easy_medium_hard(), 1).value();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(curriculum.record("add", {true, true, 1.1}).ok());
  EXPECT_EQ(curriculum.open_tier(), 0);
  EXPECT_NEAR(curriculum.progress(0).mean_speedup, 1.1, 1e-12);
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(curriculum.record("add", {true, true, 1.5}).ok());
  EXPECT_EQ(curriculum.open_tier(), 1);
  EXPECT_FALSE(curriculum.mastered());
}

TEST(Curriculum, EarlierTiersNeverStopComing) {
  Curriculum curriculum = make();
  for (const char* task : {"add", "sum", "matmul"})
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(curriculum.record(task, right).ok());
  ASSERT_EQ(curriculum.open_tier(), 3);
  std::map<std::string, int> drawn;
  for (int i = 0; i < 6000; ++i) ++drawn[curriculum.draw()];
  EXPECT_NEAR(drawn["fused"], 4800, 150);
  EXPECT_NEAR(drawn["matmul"], 400, 80);
  EXPECT_GT(drawn["add"] + drawn["mul"], 300);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(curriculum.record("fused", right).ok());
  EXPECT_TRUE(curriculum.mastered());
}

TEST(Curriculum, TasksThatTeachComeMoreOften) {
  Curriculum curriculum = make();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(curriculum.record("add", right).ok());
    ASSERT_TRUE(curriculum.record("mul", i % 2 == 0 ? right : broken).ok());
  }
  EXPECT_GT(curriculum.weight("mul"), 0.9);
  EXPECT_NEAR(curriculum.weight("add"), 0.1, 0.05);
  std::map<std::string, int> drawn;
  for (int i = 0; i < 2000; ++i) ++drawn[curriculum.draw()];
  EXPECT_GT(drawn["mul"], 5 * drawn["add"]);
  EXPECT_GT(drawn["add"], 50);
}

TEST(Curriculum, GoesOnWhereItWas) {
  Curriculum one = make();
  for (int i = 0; i < 777; ++i) ASSERT_TRUE(one.record(one.draw(), i % 3 == 0 ? wrong : right).ok());
  Curriculum two = make();
  ASSERT_TRUE(two.restore(one.state()).ok());
  EXPECT_EQ(two.state(), one.state());
  for (int i = 0; i < 500; ++i) {
    const std::string task = one.draw();
    ASSERT_EQ(two.draw(), task);
    ASSERT_TRUE(one.record(task, right).ok());
    ASSERT_TRUE(two.record(task, right).ok());
  }
}

TEST(Curriculum, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(Curriculum::make({}, four_tiers(), 1).ok());
  EXPECT_FALSE(Curriculum::make({{"a", 4}}, four_tiers(), 1).ok());
  EXPECT_FALSE(Curriculum::make({{"a", 0}, {"a", 1}}, four_tiers(), 1).ok());
  Curriculum curriculum = make();
  EXPECT_FALSE(curriculum.record("unknown", right).ok());
  Curriculum other = Curriculum::make({{"x", 0}}, four_tiers(), 1).value();
  const std::string before = curriculum.state();
  for (const std::string& state :
       {other.state(), std::string("{}"), std::string("[1"), std::string(R"({"open_tier":9})")})
    EXPECT_FALSE(curriculum.restore(state).ok()) << state;
  EXPECT_EQ(curriculum.state(), before);
}

}  // namespace
}  // namespace kw
