// Reinforcement learning by ranks: the same conversations, statistics, log and weights as by one process.

#include "learn/rl/reinforce_test_support.h"
#include "model/distributed/ranks_for_tests.h"
#include "model/distributed/shared_run.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Ended {
  std::vector<float> weights;
  std::vector<std::tuple<std::int64_t, std::string, double>> log;
  std::size_t held = 0;  // conversations, by all ranks
};

// `size` 0: without ranks.
Ended reinforced(int size, const ReinforceOptions& options, const fs::path& folder) {
  Ended ended;
  std::atomic<std::size_t> held = 0;
  test_judge();  // and the pool: made once, before threads use them
  test_pool();
  const auto learn = [&](Communicator* ranks) {
    const auto policy = test_learner(false, ranks);
    const auto critic = options.algorithm == Algorithm::ppo ? test_learner(true, ranks) : nullptr;
    const auto start = options.kl.coefficient > 0 ? test_learner(false, ranks) : nullptr;
    Checkpoints checkpoints =
        first_then_others(ranks, [&] { return Checkpoints::open(folder / "checkpoints"); }).value();
    ReinforceHooks hooks;
    hooks.pay = pay_for_low_tokens;
    hooks.episode.on_end = [&](const Episode&) { ++held; };
    ReinforceOptions mine = options;
    mine.ranks = ranks;
    mine.conversations = folder / "conversations";
    LogInMemory log;
    const auto summary = reinforce({.policy = *policy,
                                    .reference = start ? &start->trainer() : nullptr,
                                    .critic = critic ? &critic->trainer() : nullptr},
                                   test_judge(), test_pool(), test_curriculum(), mine, checkpoints, log, hooks);
    ASSERT_TRUE(summary.ok()) << to_string(summary.error());
    if (!is_first(ranks)) return;
    ended.weights = weights_of(*policy);
    ended.log = log.lines;
  };
  if (size == 0) {
    learn(nullptr);
  } else {
    with_ranks(size, [&](Communicator& ranks) { learn(&ranks); });
  }
  ended.held = held;
  return ended;
}

void expect_equal(ReinforceOptions options, const std::vector<int>& sizes) {
  options.slots = 4;
  const TemporaryFolder folder;
  const Ended expected = reinforced(0, options, folder.path() / "alone");
  ASSERT_FALSE(expected.log.empty());
  for (const int size : sizes) {
    const Ended found = reinforced(size, options, folder.path() / std::to_string(size));
    EXPECT_TRUE(found.weights == expected.weights) << to_string(options.algorithm) << ", " << size << " ranks";
    EXPECT_EQ(found.log, expected.log) << to_string(options.algorithm) << ", " << size << " ranks";
    EXPECT_EQ(found.held, expected.held) << "each conversation is held by one rank";
  }
}

TEST(ReinforceRanks, TwoRanksEndWithTheBitsOfOne) {
  ReinforceOptions options = short_run(Algorithm::grpo);
  options.steps = 2;
  expect_equal(options, {2});
}

TEST(ReinforceRanksSlow, AnyNumberOfRanksAndEveryAlgorithm) {
  for (const Algorithm algorithm :
       {Algorithm::grpo, Algorithm::dapo, Algorithm::ppo, Algorithm::dr_grpo, Algorithm::rloo}) {
    ReinforceOptions options = short_run(algorithm);
    options.episode.turns = 2;
    options.update.mini_batches = 2;
    options.update.entropy_bonus = 0.01;
    if (algorithm == Algorithm::dr_grpo) options.update.token_scale = 8;
    if (algorithm != Algorithm::ppo) {
      options.kl.coefficient = 0.05;
      options.adaptive_kl = true;
    }
    expect_equal(options, {1, 2, 3});
  }
}

// What other ranks held is in the step's store, and what they left beside it is gone.
TEST(ReinforceRanks, TheStoreHasAllConversations) {
  const TemporaryFolder folder;
  ReinforceOptions options = short_run(Algorithm::grpo);
  options.steps = 2;
  options.checkpoint_every = 2;
  options.keep_conversations = 1;
  const Ended ended = reinforced(3, options, folder.path());
  std::size_t stored = 0;
  for (const auto& entry : fs::directory_iterator(folder.path() / "conversations")) {
    EXPECT_EQ(entry.path().string().find(".rank-"), std::string::npos) << entry.path();
    if (entry.path().extension() != ".db") continue;
    const auto store = EpisodeStore::open(entry.path());
    ASSERT_TRUE(store.ok());
    const auto list = (*store)->list();
    ASSERT_TRUE(list.ok());
    for (const StoredSummary& summary : *list) {
      EXPECT_NE(summary.end, EpisodeEnd::unfinished);
      ++stored;
    }
  }
  EXPECT_EQ(stored, ended.held);
}

}  // namespace
}  // namespace kw
