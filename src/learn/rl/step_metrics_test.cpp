#include "learn/rl/step_metrics.h"

#include "learn/rl/reinforce_test_support.h"
#include "model/decoder/pass_work.h"

namespace kw {
namespace {

std::map<std::string, double> named(const Metrics& metrics) { return {metrics.begin(), metrics.end()}; }

ExperiencedAnswer answer_worth(double reward, double score) {
  ExperiencedAnswer answer;
  answer.reward = reward;
  answer.score = score;
  return answer;
}

TEST(StepMetrics, TheRawRewardStandsBesideTheShapedOne) {
  StepConversations held;
  held.answers = {answer_worth(0.25, 0.9), answer_worth(0.75, -0.5)};
  const auto metrics = named(step_metrics({.conversations = held, .update = {}}, {}));
  EXPECT_DOUBLE_EQ(metrics.at("critic/score/mean"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("critic/score/max"), 0.75);
  EXPECT_DOUBLE_EQ(metrics.at("critic/score/min"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("critic/rewards/mean"), 0.2);
  EXPECT_DOUBLE_EQ(metrics.at("critic/rewards/max"), 0.9);
  EXPECT_DOUBLE_EQ(metrics.at("critic/rewards/min"), -0.5);
}

TEST(StepMetrics, MfuIsTheShareOfThePeakThatTheUpdateReached) {
  StepConversations held;
  UpdateReport update;
  update.flops = 3e9;
  auto metrics = named(step_metrics({.conversations = held, .update = update, .update_s = 2, .peak_flops = 1e10}, {}));
  EXPECT_DOUBLE_EQ(metrics.at("perf/mfu"), 0.15);
  EXPECT_TRUE(is_timing("perf/mfu")) << "it depends on the machine";
  metrics = named(step_metrics({.conversations = held, .update = update}, {}));
  EXPECT_EQ(metrics.at("perf/mfu"), 0) << "nothing was measured";
}

// Every pass of every model counts: what is scored once, what is trained three times as much.
TEST(StepMetrics, TheWorkOfAnUpdateIsThatOfItsPasses) {
  const auto learner = test_learner(), start = test_learner(), critic = test_learner(true);
  std::vector<ExperiencedAnswer> answers(3);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].prompt = {5, 6, 7};
    answers[i].tokens.assign(4 + i, 8);
    answers[i].sampled_log_probs.assign(4 + i, -1);
    answers[i].advantage = 1;
  }
  const auto base = [](AgentRole) { return std::int32_t{-1}; };
  const ModelDescription& model = learner->description();
  const std::vector<std::size_t> all{0, 1, 2};
  const double once = forward_flops(model, pack_answers(answers, all, base, {}).at(0).batch);
  ASSERT_GT(once, 0);
  UpdateInputs inputs{.policy = learner->trainer(), .adapter_of = base, .model = &model, .learning_rate = 1e-4};
  EXPECT_DOUBLE_EQ(update_policy(inputs, answers, {})->flops, 3 * once);
  inputs.reference = &start->trainer();
  inputs.kl_coefficient = 0.1;
  EXPECT_DOUBLE_EQ(update_policy(inputs, answers, {})->flops, 4 * once);
  UpdateOptions twice;
  twice.epochs = 2;  // old log-probabilities are scored before the first step
  EXPECT_DOUBLE_EQ(update_policy(inputs, answers, twice)->flops, (1 + 1 + 2 * 3) * once);
  inputs.critic = &critic->trainer();
  inputs.critic_learning_rate = 1e-4;
  EXPECT_DOUBLE_EQ(update_policy(inputs, answers, {})->flops, (1 + 1 + 1 + 3 + 3) * once);
}

TEST(StepMetrics, ARunReportsItsMfu) {
  TemporaryFolder folder;
  const auto learner = test_learner();
  ReinforceOptions options = short_run();
  options.steps = 1;
  ReinforceHooks hooks;
  hooks.pay = pay_for_low_tokens;
  Checkpoints checkpoints = Checkpoints::open(folder.path() / "checkpoints").value();
  LogInMemory log;
  ASSERT_TRUE(
      reinforce({.policy = *learner}, test_judge(), test_pool(), test_curriculum(), options, checkpoints, log, hooks)
          .ok());
  EXPECT_GT(log.latest.at("perf/mfu"), 0);
  EXPECT_LT(log.latest.at("perf/mfu"), 1.5) << "a peak that a step passes by half is none";
}

}  // namespace
}  // namespace kw
