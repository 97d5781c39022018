#include "app/pipeline/outcome.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kw {
namespace {

// Tasks with one conversation of two turns; of each turn, whether it was right.
ModelEvaluation evaluation_of(const std::vector<std::pair<bool, bool>>& tasks) {
  ModelEvaluation evaluation;
  evaluation.settings.turns = 2;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const int turn : {0, 1}) {
      EvaluatedAnswer answer;
      answer.task = fmt::format("task{}", i);
      answer.group = "composition";
      answer.turn = turn;
      answer.compiled = true;
      answer.correct = turn == 0 ? tasks[i].first : tasks[i].second;
      answer.status = answer.correct ? VerdictStatus::correct : VerdictStatus::wrong;
      answer.reward = answer.correct ? 1 : 0;
      if (answer.correct) answer.speedup = turn == 0 ? 1 : 2;
      evaluation.answers.push_back(answer);
    }
  return evaluation;
}

TEST(Outcome, SingleAnswersAndConversationsOfEachStage) {
  const std::vector<std::pair<bool, bool>> weak(12, {false, true}), good(12, {true, true});
  const auto rows = outcome_rows({{"start", evaluation_of(weak)}, {"rl", evaluation_of(good)}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].stage, "start");
  EXPECT_EQ(rows[0].turns, 1);
  EXPECT_EQ(rows[0].tasks, 12);
  EXPECT_EQ(rows[0].correct.estimate.value, 0);
  EXPECT_FALSE(rows[0].correct.p_value);
  EXPECT_EQ(rows[1].correct.estimate.value, 1);
  EXPECT_EQ(rows[1].reward.estimate.value, 1);
  EXPECT_NEAR(*rows[1].correct.p_value, 2.0 / 4096, 1e-12) << "12 tasks of 12, by McNemar";
  EXPECT_NEAR(*rows[1].reward.p_value, 2.0 / 4096, 1e-12) << "12 signs of 12";
  EXPECT_EQ(rows[2].turns, 2);
  EXPECT_EQ(rows[2].correct.estimate.value, 1) << "the best kernel of a conversation counts";
  EXPECT_EQ(rows[2].speedup.estimate.value, 2);
  EXPECT_EQ(*rows[3].correct.p_value, 1);
  const std::string text = outcome_text(rows);
  for (const char* part : {"one answer", "2 turns", "before", "after RL", "100.0 %"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Outcome, OverPyTorchWhereItWasTimed) {
  const std::vector<std::pair<bool, bool>> good(10, {true, true});
  const auto timed = [&](double first) {
    ModelEvaluation evaluation = evaluation_of(good);
    for (EvaluatedAnswer& answer : evaluation.answers) answer.speedup_pytorch = answer.turn == 0 ? first : 3 * first;
    return evaluation;
  };
  const auto rows = outcome_rows({{"start", timed(0.5)}, {"rl", timed(2)}});
  ASSERT_TRUE(rows[1].over_pytorch && rows[3].over_pytorch);
  EXPECT_NEAR(rows[0].over_pytorch->estimate.value, 0.5, 1e-12);
  EXPECT_NEAR(rows[3].over_pytorch->estimate.value, 6, 1e-12);
  EXPECT_LT(*rows[1].over_pytorch->p_value, 0.01) << "ten tasks of ten are four times as fast";
  EXPECT_NE(outcome_text(rows).find("over PyTorch eager"), std::string::npos);
  const auto untimed = outcome_rows({{"start", evaluation_of(good)}});
  EXPECT_FALSE(untimed[0].over_pytorch);
  EXPECT_EQ(outcome_text(untimed).find("PyTorch"), std::string::npos);
}

TEST(Outcome, NothingInCommonHasNoPValue) {
  ModelEvaluation other = evaluation_of({{true, true}});
  for (EvaluatedAnswer& answer : other.answers) answer.task = "another";
  const auto rows = outcome_rows({{"start", evaluation_of({{true, true}})}, {"rl", other}});
  EXPECT_FALSE(rows[1].correct.p_value || rows[1].reward.p_value);
  EXPECT_TRUE(outcome_rows({}).empty());
  EXPECT_EQ(outcome_rows({{"start", ModelEvaluation()}}).front().tasks, 0);
}

}  // namespace
}  // namespace kw
