// What the shipped tiny agents answered and the judge said when exams had an engine of their own: the same seeds give
// the same papers since they are episodes of one turn.

#include <gtest/gtest.h>

#include "agents/episode/agent_model.h"
#include "app/evaluate/evaluation.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

struct NotedAnswer {
  const char* task;
  std::int64_t tokens;
  VerdictStatus status;
  const char* fingerprint;  // its beginning
};

void expect_as_noted(const std::vector<ExamQuestion>& questions, ExamOptions options,
                     const std::vector<NotedAnswer>& noted) {
  const auto model = AgentModel::open("tiny", {.device = "cpu"});
  ASSERT_TRUE(model.ok()) << to_string(model.error());
  Rollout rollout(*(*model)->decoder(), &(*model)->dialect().tokenizer());
  const auto result = sit_exam(
      rollout, (*model)->dialect(), test_judge(), questions, [&](AgentRole role) { return (*model)->adapter_of(role); },
      options);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  const std::vector<EvaluatedAnswer> answers = evaluated_answers(questions, *result);
  ASSERT_EQ(answers.size(), noted.size());
  for (std::size_t i = 0; i < noted.size(); ++i) {
    SCOPED_TRACE(noted[i].task);
    EXPECT_EQ(answers[i].task, noted[i].task);
    EXPECT_EQ(answers[i].sample, static_cast<std::int64_t>(i) % options.samples);
    EXPECT_EQ(answers[i].tokens, noted[i].tokens);
    EXPECT_EQ(answers[i].status, noted[i].status);
    EXPECT_EQ(answers[i].fingerprint.substr(0, 12), noted[i].fingerprint);
  }
}

using enum VerdictStatus;

TEST(ExamFigures, GreedyAnswersAreAsTheyWere) {
  std::vector<ExamQuestion> questions = drawn_questions(DataSplit::composition, 5, 3);
  for (ExamQuestion& question : drawn_questions(DataSplit::novel, 5, 2)) questions.push_back(std::move(question));
  const auto shown = optimizer_questions(test_judge(), DataSplit::composition, 5, 2, 1);
  ASSERT_TRUE(shown.ok()) << to_string(shown.error());
  questions.insert(questions.end(), shown->begin(), shown->end());
  ExamOptions options;
  options.constrain = false;  // what the model says by itself
  expect_as_noted(questions, options,
                  {{"elementwise_5_0", 149, correct, "012dc78b2ea3"},
                   {"cumsum_5_1", 136, correct, "780de16a25ac"},
                   {"reduce_first_5_2", 162, correct, "6a5adf55e144"},
                   {"logsumexp_5_0", 164, wrong, "952b0566aeb7"},
                   {"matmul_tn_5_1", 210, launcher_error, "12562abf3cd2"},
                   {"elementwise_5_0", 316, correct, "ce1f9977a059"},
                   {"cumsum_5_1", 221, correct, "e0674e817f48"},
                   {"elementwise_5_0", 316, correct, "ce1f9977a059"}});
}

TEST(ExamFigures, SampledAnswersAreAsTheyWere) {
  ExamOptions options;
  options.constrain = false;
  options.samples = 2;
  options.temperature = 0.8f;
  options.seed = 6;
  expect_as_noted(drawn_questions(DataSplit::composition, 6, 3), options,
                  {{"permute_6_0", 210, correct, "a47337c5e248"},
                   {"permute_6_0", 241, correct, "a32a55ed67cc"},
                   {"matvec_6_1", 165, correct, "ad7599012770"},
                   {"matvec_6_1", 165, correct, "ad7599012770"},
                   {"causal_softmax_6_2", 349, correct, "2348dff15b07"},
                   {"causal_softmax_6_2", 349, correct, "2348dff15b07"}});
}

}  // namespace
}  // namespace kw
