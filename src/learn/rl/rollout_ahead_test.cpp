// Steps that are held while earlier ones are learned from: by exactly the weights that the rule says, whatever happens.
#include "learn/rl/rollout_ahead.h"

#include <csignal>
#include <deque>

#include "base/interrupt.h"
#include "base/random.h"
#include "base/test_length.h"
#include "learn/rl/reinforce_test_support.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using LogLines = std::vector<std::tuple<std::int64_t, std::string, double>>;

struct AheadRun {
  std::vector<float> weights;
  LogInMemory log;
  Result<ReinforceSummary> summary = Error{"it has not run", "", {}};
};

ReinforceHooks paid_for_low_tokens() {
  ReinforceHooks hooks;
  hooks.pay = pay_for_low_tokens;
  return hooks;
}

AheadRun run_ahead(const ReinforceOptions& options, const fs::path& folder,
                   const ReinforceHooks& hooks = paid_for_low_tokens()) {
  AheadRun run;
  const auto learner = test_learner(false, nullptr, options.ahead > 0);
  const auto critic = options.algorithm == Algorithm::ppo ? test_learner(true) : nullptr;
  const auto start = options.kl.coefficient > 0 ? test_learner() : nullptr;
  Checkpoints checkpoints = Checkpoints::open(folder / "checkpoints").value();
  run.summary = reinforce({.policy = *learner,
                           .reference = start ? &start->trainer() : nullptr,
                           .critic = critic ? &critic->trainer() : nullptr},
                          test_judge(), test_pool(), test_curriculum(), options, checkpoints, run.log, hooks);
  run.weights = weights_of(*learner);
  return run;
}

ReinforceOptions options_ahead(std::int64_t ahead, Algorithm algorithm = Algorithm::grpo) {
  ReinforceOptions options = short_run(algorithm);
  options.ahead = ahead;
  options.steps = 5;
  options.critic_warm_up = 1;
  return options;
}

// The same by one thread and without a copy of the weights: conversations of step n are held by the learner's own
// decoder when its weights are those after step n - 1 - ahead, and are learned from that much later.
std::vector<float> by_hand(const ReinforceOptions& options) {
  const auto learner = test_learner();
  const auto critic = options.algorithm == Algorithm::ppo ? test_learner(true) : nullptr;
  Curriculum curriculum = test_curriculum();
  std::uint64_t next_episode = 0;
  std::deque<StepConversations> held;
  std::int64_t steps_held = 0;
  const auto hold = [&] {
    if (steps_held++ >= options.steps) return;
    const StepSource source{.learner = *learner,
                            .judge = test_judge(),
                            .pool = test_pool(),
                            .curriculum = curriculum,
                            .next_episode = next_episode,
                            .model = "by hand",
                            .store = {},
                            .pay = pay_for_low_tokens,
                            .episode = {}};
    held.push_back(hold_step_conversations(source, options).value());
  };
  for (std::int64_t i = 0; i < options.ahead; ++i) hold();
  for (std::int64_t step = 0; step < options.steps; ++step) {
    hold();
    UpdateInputs inputs{.policy = learner->trainer(),
                        .critic = critic ? &critic->trainer() : nullptr,
                        .adapter_of = [&](AgentRole role) { return learner->adapter_of(role); },
                        .learning_rate = options.learning_rate,
                        .critic_learning_rate = options.critic_learning_rate,
                        .move_policy = critic == nullptr || step >= options.critic_warm_up,
                        .seed = Random(options.seed, static_cast<std::uint64_t>(step)).next()};
    const auto updated = update_policy(inputs, held.front().answers, options.update);
    EXPECT_TRUE(updated.ok()) << to_string(updated.error());
    held.pop_front();
  }
  return weights_of(*learner);
}

double value_of(const LogInMemory& log, std::int64_t step, const std::string& name) {
  for (const auto& [at, found, value] : log.lines)
    if (at == step && found == name) return value;
  ADD_FAILURE() << name << " was not logged in step " << step;
  return 0;
}

TEST(RolloutAhead, EachStepIsHeldByExactlyTheWeightsThatTheRuleSays) {
  for (const std::int64_t ahead : {1, 2}) {
    TemporaryFolder folder;
    const ReinforceOptions options = options_ahead(ahead);
    const AheadRun run = run_ahead(options, folder.path());
    ASSERT_TRUE(run.summary.ok()) << to_string(run.summary.error());
    EXPECT_EQ(run.weights, by_hand(options)) << ahead << " ahead";
    for (std::int64_t step = 1; step <= options.steps; ++step)
      EXPECT_EQ(value_of(run.log, step, "rollout/age"), static_cast<double>(std::min(step - 1, ahead)));
    // The first step is learned from by who sampled it; later ones have weights for that they were not.
    EXPECT_EQ(value_of(run.log, 1, "mismatch_kl"), 0);
    EXPECT_EQ(value_of(run.log, 1, "importance/mean"), 1);
    EXPECT_EQ(value_of(run.log, 1, "importance/effective"), 1);
    for (std::int64_t step = 2; step <= options.steps; ++step) {
      EXPECT_GT(value_of(run.log, step, "mismatch_kl"), 0) << step;
      EXPECT_NE(value_of(run.log, step, "importance/mean"), 1) << step;
      EXPECT_LT(value_of(run.log, step, "importance/effective"), 1) << step;
      EXPECT_LE(value_of(run.log, step, "importance/cut"), 1) << step;
    }
  }
}

TEST(RolloutAheadSlow, WithEveryAlgorithmToo) {
  for (const Algorithm algorithm : {Algorithm::dr_grpo, Algorithm::rloo, Algorithm::dapo, Algorithm::ppo}) {
    TemporaryFolder folder;
    ReinforceOptions options = options_ahead(1, algorithm);
    options.episode.turns = 2;
    options.update.mini_batches = 2;
    if (algorithm == Algorithm::dr_grpo) options.update.token_scale = 8;
    const AheadRun run = run_ahead(options, folder.path());
    ASSERT_TRUE(run.summary.ok()) << to_string(run.summary.error());
    EXPECT_EQ(run.weights, by_hand(options)) << to_string(algorithm);
  }
}

// Nothing is in flight while a run's only step is learned from.
TEST(RolloutAhead, OneStepIsTheSynchronousOne) {
  TemporaryFolder one, other;
  ReinforceOptions options = options_ahead(0);
  options.steps = 1;
  const AheadRun synchronous = run_ahead(options, one.path());
  options.ahead = 1;
  AheadRun ahead = run_ahead(options, other.path());
  ASSERT_TRUE(synchronous.summary.ok() && ahead.summary.ok());
  EXPECT_EQ(ahead.weights, synchronous.weights);
  std::erase_if(ahead.log.lines, [](const auto& line) {
    const std::string& name = std::get<1>(line);
    return name == "rollout/age" || name == "importance/cut" || name == "importance/effective";
  });
  EXPECT_EQ(ahead.log.lines, synchronous.log.lines);
  EXPECT_FALSE(synchronous.log.latest.contains("rollout/age"));
}

// As by_hand() says: without anything ahead it is what it always was.
TEST(RolloutAhead, WithoutAnythingAheadARunIsStepAfterStep) {
  TemporaryFolder folder;
  const ReinforceOptions options = options_ahead(0);
  EXPECT_EQ(run_ahead(options, folder.path()).weights, by_hand(options));
}

void expect_same_bits_when_resumed(ReinforceOptions options, bool stored, const std::vector<int>& stops) {
  TemporaryFolder whole, parts;
  options.kl.coefficient = options.algorithm == Algorithm::ppo ? 0 : 0.05;
  const AheadRun undisturbed = run_ahead(options, whole.path());
  ASSERT_TRUE(undisturbed.summary.ok()) << to_string(undisturbed.summary.error());
  if (stored) options.conversations = parts.path() / "conversations";
  install_interrupt_handling();
  LogLines lines;
  for (const int stop_at : stops) {
    ReinforceHooks hooks = paid_for_low_tokens();
    if (stop_at == 0)
      hooks.episode.on_token = [](const Episode&, const Turn&, const TokenEvent&) {
        if (!interrupted()) raise(SIGINT);
      };
    hooks.progress = [&](const ReinforceProgress& now) {
      if (now.step == stop_at) raise(SIGINT);
    };
    const AheadRun part = run_ahead(options, parts.path(), hooks);
    clear_interrupt();
    ASSERT_TRUE(part.summary.ok()) << to_string(part.summary.error());
    EXPECT_TRUE(part.summary->interrupted);
    EXPECT_EQ(part.summary->last.step, stop_at);
    lines.insert(lines.end(), part.log.lines.begin(), part.log.lines.end());
  }
  const AheadRun last = run_ahead(options, parts.path());
  ASSERT_TRUE(last.summary.ok()) << to_string(last.summary.error());
  lines.insert(lines.end(), last.log.lines.begin(), last.log.lines.end());
  EXPECT_FALSE(last.summary->interrupted);
  EXPECT_EQ(last.weights, undisturbed.weights);
  EXPECT_EQ(lines, undisturbed.log.lines);
}

// In the middle of the first answers; and while the next step is held, which is held again from older weights.
TEST(RolloutAhead, ResumedIsBitForBitUndisturbed) {
  expect_same_bits_when_resumed(options_ahead(1), true, {0, 3});
  expect_same_bits_when_resumed(options_ahead(2), false, {3});
}

TEST(RolloutAheadSlow, ResumedAnywhereIsBitForBitUndisturbed) {
  for (const Algorithm algorithm : {Algorithm::dapo, Algorithm::ppo})
    for (const std::int64_t ahead :
         thorough_tests() ? std::vector<std::int64_t>{1, 2, 3} : std::vector<std::int64_t>{2})
      for (const bool stored : {true, false})
        expect_same_bits_when_resumed(options_ahead(ahead, algorithm), stored, {0, 1, 2, 4});
}

// A run may be told to hold more ahead, or less, when it goes on.
TEST(RolloutAhead, GoesOnWithMoreAheadOrLess) {
  TemporaryFolder folder;
  std::int64_t done = 0;
  for (const std::int64_t ahead : {0, 2, 1, 0}) {
    ReinforceOptions options = options_ahead(ahead);
    options.steps = done += 3;
    const AheadRun run = run_ahead(options, folder.path());
    ASSERT_TRUE(run.summary.ok()) << to_string(run.summary.error());
    EXPECT_EQ(run.summary->last.step, done);
    if (ahead == 2) {  // the first one begins with the newest weights: older ones were not kept
      EXPECT_EQ(value_of(run.log, 4, "rollout/age"), 0);
      EXPECT_EQ(value_of(run.log, 6, "rollout/age"), 2);
    }
    if (ahead == 1) {
      EXPECT_EQ(value_of(run.log, 7, "rollout/age"), 1);
    }
  }
}

TEST(RolloutAhead, AnErrorOfAStepAheadEndsTheRun) {
  TemporaryFolder folder;
  ReinforceOptions options = options_ahead(1);
  options.conversations = folder.path() / "conversations";
  fs::create_directories(options.conversations / "step-00000003.db");  // where its store would be
  const AheadRun run = run_ahead(options, folder.path());
  ASSERT_FALSE(run.summary.ok());
  EXPECT_NE(to_string(run.summary.error()).find("step-00000003.db"), std::string::npos);
  EXPECT_EQ(value_of(run.log, 2, "rollout/age"), 1) << "what was there before it was learned from";
}

// What nobody will learn from is ended where it is, and not kept.
TEST(RolloutAhead, AStoppedRunLeavesNothingOfTheNextSteps) {
  TemporaryFolder folder;
  ReinforceOptions options = options_ahead(2);
  options.steps = 30;
  options.kl.coefficient = 1e-6;
  options.guard.most_kl = 0;
  options.guard.patience = 1;
  options.guard.most_cuts = 1;
  options.conversations = folder.path() / "conversations";
  options.keep_conversations = 1;
  const AheadRun run = run_ahead(options, folder.path());
  ASSERT_TRUE(run.summary.ok()) << to_string(run.summary.error());
  EXPECT_FALSE(run.summary->stopped.empty());
  std::size_t stores = 0;
  for (const auto& entry : fs::directory_iterator(options.conversations)) stores += entry.path().extension() == ".db";
  EXPECT_EQ(stores, static_cast<std::size_t>(run.summary->last.step));
}

TEST(RolloutAhead, RefusesWhatCannotBeHeldAhead) {
  ReinforceOptions options = options_ahead(1);
  options.ahead = most_ahead + 1;
  EXPECT_FALSE(check_options(options).ok());
  options.ahead = -1;
  EXPECT_FALSE(check_options(options).ok());
  options.ahead = 1;
  EXPECT_TRUE(check_options(options).ok());

  TemporaryFolder folder;
  Checkpoints checkpoints = Checkpoints::open(folder.path() / "checkpoints").value();
  LogInMemory log;
  const auto without_sampler = test_learner();
  const auto refused = reinforce({.policy = *without_sampler}, test_judge(), test_pool(), test_curriculum(), options,
                                 checkpoints, log, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("sampler"), std::string::npos);
}

}  // namespace
}  // namespace kw
