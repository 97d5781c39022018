#include "kernel/judge/baseline.h"

#include <gtest/gtest.h>

#include <limits>

namespace kw {
namespace {

TEST(Baseline, HasANameThatIsReadBack) {
  ASSERT_EQ(baseline_names().size(), 5u);
  for (const std::string& name : baseline_names()) {
    const auto baseline = baseline_from_name(name);
    ASSERT_TRUE(baseline);
    EXPECT_EQ(name_of(*baseline), name);
    EXPECT_FALSE(words_of(*baseline).empty());
  }
  EXPECT_FALSE(baseline_from_name("fastest"));
  EXPECT_EQ(words_of(Baseline::naive), "the naive kernel");
  EXPECT_EQ(words_of(Baseline::library), "the library's kernel");
  EXPECT_EQ(speedup_text(Baseline::pytorch, 1.5), "1.50 x pytorch");
}

TEST(Baseline, SpeedupsAreThoseOfTheVerdictOrOfTwoTimes) {
  Verdict verdict, other;
  for (const std::string& name : baseline_names()) EXPECT_FALSE(speedup_over(*baseline_from_name(name), verdict));
  verdict.time_us = 10;
  verdict.time_source = other.time_source = "measured";
  verdict.speedup_naive = 2;
  verdict.speedup_interval = Interval{0.9, 2.5};
  verdict.speedup_pytorch = 3;
  verdict.speedup_pytorch_interval = Interval{2.5, 3.5};
  verdict.speedup_pytorch_tf32 = 0.5;
  other.time_us = 40;
  const auto naive = speedup_over(Baseline::naive, verdict);
  ASSERT_TRUE(naive);
  EXPECT_EQ(naive->factor, 2);
  EXPECT_FALSE(naive->shows_difference());
  EXPECT_EQ(speedup_over(Baseline::pytorch, verdict)->factor, 3);
  EXPECT_TRUE(speedup_over(Baseline::pytorch, verdict)->shows_difference());
  EXPECT_EQ(speedup_over(Baseline::pytorch_tf32, verdict)->factor, 0.5);
  EXPECT_EQ(speedup_over(Baseline::given, verdict, &other)->factor, 4);
  EXPECT_EQ(speedup_over(Baseline::library, verdict, &other)->factor, 4);
  EXPECT_TRUE(speedup_over(Baseline::given, verdict, &other)->shows_difference());
  EXPECT_FALSE(speedup_over(Baseline::given, verdict)) << "the other kernel is not known";
  other.time_source = "modelled";
  EXPECT_FALSE(speedup_over(Baseline::given, verdict, &other)) << "times of two kinds";
  verdict.speedup_naive = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(speedup_over(Baseline::naive, verdict));
}

}  // namespace
}  // namespace kw
