#include "learn/rl/reinforce.h"

#include <csignal>

#include "base/interrupt.h"
#include "base/test_length.h"
#include "learn/rl/reinforce_test_support.h"

namespace kw {
namespace {

ReinforceHooks paid_hooks() {
  ReinforceHooks hooks;
  hooks.pay = pay_for_low_tokens;
  return hooks;
}

struct Ran {
  std::vector<float> weights;
  LogInMemory log;
  ReinforceSummary summary;
};

Ran ran(const ReinforceOptions& options, const std::filesystem::path& folder,
        const ReinforceHooks& hooks = paid_hooks()) {
  Ran result;
  const auto learner = test_learner();
  const auto critic = options.algorithm == Algorithm::ppo ? test_learner(true) : nullptr;
  const auto start = options.kl.coefficient > 0 ? test_learner() : nullptr;
  Checkpoints checkpoints = Checkpoints::open(folder / "checkpoints").value();
  auto summary = reinforce({.policy = *learner,
                            .reference = start ? &start->trainer() : nullptr,
                            .critic = critic ? &critic->trainer() : nullptr},
                           test_judge(), test_pool(), test_curriculum(), options, checkpoints, result.log, hooks);
  EXPECT_TRUE(summary.ok()) << to_string(summary.error());
  if (summary.ok()) result.summary = std::move(summary).value();
  result.weights = weights_of(*learner);
  return result;
}

// By how much the share of low tokens rises, when they are paid for (sign 1) or cost (sign -1).
double learned_share(Algorithm algorithm, double sign) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run(algorithm);
  options.steps = 24;
  options.tasks = 1;
  options.group = 32;
  options.episode.answer_tokens = 4;
  options.critic_learning_rate = 1e-3;
  options.critic_warm_up = 0;
  options.credit.overlong_buffer = 0;
  options.update.mini_batches = 2;
  if (algorithm == Algorithm::dr_grpo) options.update.token_scale = 4;
  options.guard.patience = 1000;
  ReinforceHooks hooks;
  hooks.pay = [&](const Episode& episode, const Turn& turn, TurnSample& sample) {
    pay_for_low_tokens(episode, turn, sample);
    sample.reward *= sign;
  };
  const Ran result = ran(options, folder.path(), hooks);
  EXPECT_EQ(result.log.latest.at("mismatch_kl"), 0);
  double first = 0, last = 0;
  for (const auto& [step, name, value] : result.log.lines) {
    if (name != "critic/score/mean") continue;
    if (step <= 5) first += sign * value / 5;
    if (step > 19) last += sign * value / 5;
  }
  return last - first;
}

TEST(Reinforce, LearnsWhatIsPaidFor) { EXPECT_GT(learned_share(Algorithm::grpo, 1), 0.15); }

TEST(ReinforceSlow, EveryAlgorithmLearnsWhatIsPaidForAndAvoidsWhatCosts) {
  for (const Algorithm algorithm :
       {Algorithm::grpo, Algorithm::dr_grpo, Algorithm::rloo, Algorithm::dapo, Algorithm::ppo}) {
    // In short, every other algorithm shows one direction, the others the other.
    const bool even = static_cast<int>(algorithm) % 2 == 0;
    if (thorough_tests() || even) {
      EXPECT_GT(learned_share(algorithm, 1), 0.1) << to_string(algorithm);
    }
    if (thorough_tests() || !even) {
      EXPECT_LT(learned_share(algorithm, -1), -0.1) << to_string(algorithm);
    }
  }
}

TEST(Reinforce, ResumedIsBitForBitUndisturbed) {
  for (const Algorithm algorithm : {Algorithm::dapo, Algorithm::ppo}) {
    TemporaryFolder whole, parts;
    ReinforceOptions options = short_run(algorithm);
    options.kl.coefficient = 0.05;
    options.adaptive_kl = true;
    options.critic_warm_up = 1;
    options.guard.most_kl = 0;  // lowers the learning rate again and again: its state matters to every later step
    options.guard.patience = 1;
    options.guard.most_cuts = 100;
    const Ran undisturbed = ran(options, whole.path());

    options.conversations = parts.path() / "conversations";
    install_interrupt_handling();
    std::vector<std::tuple<std::int64_t, std::string, double>> lines;
    // Stopped in the middle of the first step's answers, and after the third step, which has no checkpoint of its own.
    for (const int stop_at : {0, 3}) {
      ReinforceHooks hooks = paid_hooks();
      if (stop_at == 0)
        hooks.episode.on_token = [](const Episode&, const Turn&, const TokenEvent&) {
          if (!interrupted()) raise(SIGINT);
        };
      hooks.progress = [&](const ReinforceProgress& now) {
        if (now.step == stop_at) raise(SIGINT);
      };
      const Ran part = ran(options, parts.path(), hooks);
      clear_interrupt();
      EXPECT_TRUE(part.summary.interrupted);
      EXPECT_EQ(part.summary.last.step, stop_at);
      lines.insert(lines.end(), part.log.lines.begin(), part.log.lines.end());
    }
    const Ran last = ran(options, parts.path());
    lines.insert(lines.end(), last.log.lines.begin(), last.log.lines.end());
    EXPECT_FALSE(last.summary.interrupted);
    EXPECT_EQ(last.weights, undisturbed.weights);
    EXPECT_EQ(lines, undisturbed.log.lines);
  }
}

// Half an exam says nothing, and the run does not end without it.
TEST(Reinforce, AnInterruptedExamIsHeldWhenTheRunGoesOn) {
  TemporaryFolder whole, parts;
  ReinforceOptions options = short_run();
  options.evaluations = 2;
  options.checkpoint_every = 100;
  ReinforceHooks hooks = paid_hooks();
  hooks.evaluate = [](std::int64_t step) -> Result<HeldOutScore> {
    return HeldOutScore{.score = 1, .metrics = {{"exam/correct", static_cast<double>(step)}}, .line = ""};
  };
  const Ran undisturbed = ran(options, whole.path(), hooks);
  ASSERT_TRUE(undisturbed.summary.before && undisturbed.summary.after);

  install_interrupt_handling();
  std::vector<std::tuple<std::int64_t, std::string, double>> lines;
  for (const std::int64_t stop_at : {0, 2, 4}) {
    ReinforceHooks stop = hooks;
    stop.evaluate = [&](std::int64_t step) {
      if (step == stop_at) raise(SIGINT);
      return hooks.evaluate(step);
    };
    const Ran part = ran(options, parts.path(), stop);
    clear_interrupt();
    EXPECT_TRUE(part.summary.interrupted);
    EXPECT_EQ(part.summary.last.step, stop_at);
    lines.insert(lines.end(), part.log.lines.begin(), part.log.lines.end());
  }
  const Ran last = ran(options, parts.path(), hooks);
  lines.insert(lines.end(), last.log.lines.begin(), last.log.lines.end());
  EXPECT_FALSE(last.summary.interrupted);
  EXPECT_TRUE(last.summary.before && last.summary.after);
  EXPECT_EQ(last.weights, undisturbed.weights);
  EXPECT_EQ(lines, undisturbed.log.lines);
}

// Killed after its last checkpoint, before it said how it ended.
TEST(Reinforce, WhoeverStartsAnEndedRunAgainHearsTheSame) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run();
  options.evaluations = 1;
  ReinforceHooks hooks = paid_hooks();
  hooks.evaluate = [](std::int64_t step) -> Result<HeldOutScore> {
    return HeldOutScore{.score = 1, .metrics = {{"exam/correct", static_cast<double>(step)}}, .line = ""};
  };
  const Ran first = ran(options, folder.path(), hooks);
  const Ran again = ran(options, folder.path(), hooks);
  EXPECT_TRUE(again.log.lines.empty());
  EXPECT_EQ(again.weights, first.weights);
  EXPECT_EQ(again.summary.last.rates.reward, first.summary.last.rates.reward);
  ASSERT_TRUE(again.summary.after);
  EXPECT_EQ(again.summary.after->metrics, first.summary.after->metrics);
}

TEST(Reinforce, RefillsInPlaceOfTasksThatTaughtNothing) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run(Algorithm::dapo);
  options.steps = 1;
  options.refills = 3;
  ReinforceHooks hooks;
  std::map<std::string, std::size_t> seen;
  // Conversations about the first two tasks are all alike, later ones differ.
  hooks.pay = [&](const Episode& episode, const Turn&, TurnSample& sample) {
    const std::size_t task = seen.emplace(episode.request.task->name, seen.size()).first->second;
    sample.reward = task < 2 ? 0.5 : 1e-3 * static_cast<double>(episode.request.number);
  };
  const Ran result = ran(options, folder.path(), hooks);
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(result.log.latest.at("dapo/refills"), 1);
  EXPECT_EQ(result.log.latest.at("frac_reward_zero_std"), 0.5);
}

TEST(Reinforce, NothingToLearnFromMovesNothing) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run(Algorithm::dapo);
  options.steps = 2;
  options.refills = 1;
  ReinforceHooks hooks;  // no kernel, no reward: all alike
  const Ran result = ran(options, folder.path(), hooks);
  EXPECT_EQ(result.weights, weights_of(*test_learner()));
  EXPECT_EQ(result.summary.last.step, 2);
  EXPECT_EQ(result.log.latest.at("frac_reward_zero_std"), 1);
}

TEST(Reinforce, StopsWithASentenceWhenLearningGoesWrong) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run();
  options.steps = 30;
  options.kl.coefficient = 1e-6;
  options.guard.most_kl = 0;
  options.guard.patience = 1;
  options.guard.most_cuts = 1;
  ReinforceHooks hooks = paid_hooks();
  std::vector<std::string> notices;
  hooks.notice = [&](std::string_view notice) { notices.emplace_back(notice); };
  const Ran result = ran(options, folder.path(), hooks);
  EXPECT_LT(result.summary.last.step, 30);
  EXPECT_NE(result.summary.stopped.find("from its start"), std::string::npos) << result.summary.stopped;
  ASSERT_EQ(notices.size(), 2u);
  // Started again, it stays stopped.
  const Ran again = ran(options, folder.path(), hooks);
  EXPECT_EQ(again.summary.last.step, result.summary.last.step);
  EXPECT_EQ(again.summary.stopped, result.summary.stopped);
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_NE(notices[0].find("learning rate is now 0.5"), std::string::npos) << notices[0];
  EXPECT_EQ(result.log.latest.at("guard/lr_share"), 0.5);
}

TEST(Reinforce, RefusesCheckpointsOfOtherWeights) {
  TemporaryFolder folder;
  ReinforceOptions options = short_run();
  options.steps = 1;
  ran(options, folder.path());
  options.start = "something else";
  const auto learner = test_learner();
  Checkpoints checkpoints = Checkpoints::open(folder.path() / "checkpoints").value();
  LogInMemory log;
  EXPECT_FALSE(reinforce({.policy = *learner}, test_judge(), test_pool(), test_curriculum(), options, checkpoints, log,
                         paid_hooks())
                   .ok());
}

TEST(Reinforce, RefusesOptionsThatWouldLearnFromSomethingElse) {
  const auto refused = [](auto change) {
    ReinforceOptions options = short_run();
    change(options);
    return !check_options(options).ok();
  };
  EXPECT_TRUE(check_options(short_run()).ok());
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.episode.top_k = 20; }));
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.episode.top_p = 0.9f; }));
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.episode.temperature = 0.8f; }));
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.episode.samples = 2; }));
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.group = 1; }));
  EXPECT_TRUE(refused([](ReinforceOptions& options) { options.steps = 0; }));
}

TEST(TaskPool, HoldsTrainingTasksAlone) {
  EXPECT_EQ(test_pool().tasks.size(), 12u);
  for (const auto& [name, task] : test_pool().tasks) EXPECT_FALSE(task->naive.empty());
  StreamOptions stream;
  stream.families = {novel_families().front()};
  EXPECT_FALSE(draw_task_pool(stream, 3).ok());
  stream = {};
  stream.split = DataSplit::composition;
  EXPECT_FALSE(draw_task_pool(stream, 3).ok());
}

}  // namespace
}  // namespace kw
