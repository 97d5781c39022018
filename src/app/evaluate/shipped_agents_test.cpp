// The agents in weights/ are as good as weights/README.md says, on a sample, with the emulator.

#include <gtest/gtest.h>

#include "agents/episode/agent_model.h"
#include "app/evaluate/exam.h"
#include "base/test_length.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

struct Hall {
  CompileService service{{}};
  Judge judge;
  std::unique_ptr<AgentModel> model;
  Rollout rollout;

  Hall()
      : judge(service, options()),
        model(std::move(*AgentModel::open("tiny", {.device = "cpu"}))),
        rollout(*model->decoder(), &model->dialect().tokenizer()) {}
  static JudgeOptions options() {
    JudgeOptions options;
    options.profile = *load_profile("h200");
    return options;
  }
  ExamScore sit(const std::vector<ExamQuestion>& questions) {
    const auto result = sit_exam(rollout, model->dialect(), judge, questions,
                                 [&](AgentRole role) { return model->adapter_of(role); }, {});
    EXPECT_TRUE(result.ok());
    return score_of(questions, *result);
  }
};

TEST(ShippedAgentsSlow, TinyWritesRightKernelsForUnseenCombinations) {
  Hall hall;
  const ExamScore score = hall.sit(drawn_questions(DataSplit::composition, 90'001, thorough_tests() ? 80 : 32));
  EXPECT_GE(score.answers, thorough_tests() ? 75 : 30);
  EXPECT_GE(score.compiled * 100, 95 * score.answers) << score.compiled << " of " << score.answers;
  EXPECT_GE(score.correct * 100, 85 * score.answers) << score.correct << " of " << score.answers;
}

TEST(ShippedAgentsSlow, TinyMakesKernelsFasterAndRepairsThem) {
  Hall hall;
  const int each = thorough_tests() ? 24 : 8;
  const auto questions = optimizer_questions(hall.judge, DataSplit::composition, 90'002, each, each);
  ASSERT_TRUE(questions.ok());
  const ExamScore score = hall.sit(*questions);
  EXPECT_GE(score.faster * 2, score.to_improve) << score.faster << " of " << score.to_improve;
  EXPECT_GE(score.repaired * 2, score.to_repair) << score.repaired << " of " << score.to_repair;
}

}  // namespace
}  // namespace kw
