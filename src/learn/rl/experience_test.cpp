#include "learn/rl/experience.h"

#include <gtest/gtest.h>

#include "kernel/judge/test_verdict.h"

namespace kw {
namespace {

constexpr std::int64_t version = 7;

Turn turn_of(int index, AgentRole role, double reward) {
  Turn turn;
  turn.index = index;
  turn.role = role;
  turn.prompt = {1, 2, 3};
  TurnSample& sample = turn.samples.emplace_back();
  sample.tokens = {40, 41, 42, 0};
  sample.log_probs = {-1, -2, -3, -4};
  sample.finish = FinishReason::stop_token;
  sample.weights_version = sample.last_weights_version = version;
  sample.reward = reward;
  return turn;
}

Episode episode_of(std::initializer_list<std::pair<AgentRole, double>> turns) {
  Episode episode;
  for (const auto& [role, reward] : turns)
    episode.turns.push_back(turn_of(static_cast<int>(episode.turns.size()), role, reward));
  episode.end = EpisodeEnd::turns;
  return episode;
}

constexpr AgentRole writes = AgentRole::generator, improves = AgentRole::optimizer;

std::vector<ExperiencedAnswer> answers_from(const std::vector<Episode>& episodes,
                                            const std::vector<std::int64_t>& tasks, const CreditOptions& credit = {},
                                            std::int64_t most = 100) {
  auto answers = answers_of(episodes, tasks, credit, most, version);
  EXPECT_TRUE(answers.ok()) << to_string(answers.error());
  return std::move(answers).value();
}

TEST(Experience, HoldsTheIdsAndLogProbabilitiesAsTheyWereSampled) {
  Episode episode = episode_of({{writes, 1}});
  // Ids that no tokenizer would make of their text again, and one that is no text at all.
  episode.turns[0].samples[0].tokens = {101, 7, 7, 999'999};
  const auto answers = answers_from({episode}, {0});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].tokens, episode.turns[0].samples[0].tokens);
  EXPECT_EQ(answers[0].prompt, episode.turns[0].prompt);
  EXPECT_EQ(answers[0].sampled_log_probs, episode.turns[0].samples[0].log_probs);
}

TEST(Experience, RefusesAnswersOfOtherWeights) {
  Episode stale = episode_of({{writes, 1}});
  stale.turns[0].samples[0].weights_version = version - 1;
  EXPECT_FALSE(answers_of({stale}, std::vector<std::int64_t>{0}, {}, 100, version).ok());
  Episode changed = episode_of({{writes, 1}});
  changed.turns[0].samples[0].last_weights_version = version + 1;
  EXPECT_FALSE(answers_of({changed}, std::vector<std::int64_t>{0}, {}, 100, version).ok());
}

TEST(Experience, LeavesOutWhatTheJudgeCouldNotSay) {
  Episode episode = episode_of({{writes, 0.5}, {improves, 0.7}});
  episode.turns[0].samples[0].rewarded = false;
  const auto answers = answers_from({episode}, {0});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].role, improves);
}

TEST(Experience, TruncatedAnswersAreLearnedFrom) {
  Episode episode = episode_of({{writes, 0}});
  episode.turns[0].samples[0].finish = FinishReason::length;
  EXPECT_EQ(answers_from({episode}, {0}).size(), 1u);
}

TEST(Experience, CreditByTheThreeRules) {
  Episode episode = episode_of({{writes, 0.5}, {improves, 1}});
  CreditOptions credit;
  credit.discount = 0.4;
  auto answers = answers_from({episode}, {0}, credit);
  EXPECT_DOUBLE_EQ(answers[0].score, 0.5 + 0.4 * 1);
  EXPECT_DOUBLE_EQ(answers[1].score, 1);
  EXPECT_DOUBLE_EQ(answers[0].reward, 0.5);  // the raw one stays beside it

  credit.rule = CreditRule::final_share;
  credit.outcome = reward_shape("weighted").value();
  episode.turns[1].samples[0].verdict = std::make_shared<const Verdict>(right_verdict(4));
  episode.best = episode.current = 1;
  const double outcome = reward_of(right_verdict(4), credit.outcome).total;
  answers = answers_from({episode}, {0}, credit);
  EXPECT_DOUBLE_EQ(answers[0].score, 0.3 * 0.5 + 0.7 * outcome * 0.9);
  EXPECT_DOUBLE_EQ(answers[1].score, 0.3 * 1 + 0.7 * outcome);

  credit.rule = CreditRule::leave_one_out;
  const std::vector<Episode> two{episode_of({{writes, 1}}), episode_of({{writes, 0.25}})};
  answers = answers_from(two, {0, 0}, credit);
  set_advantages(answers, Algorithm::grpo, credit.rule);
  EXPECT_DOUBLE_EQ(answers[0].advantage, 0.75);
  EXPECT_DOUBLE_EQ(answers[1].advantage, -0.75);
}

TEST(Experience, LengthCostsByGeneratedTokensAlone) {
  CreditOptions credit;
  credit.overlong_buffer = 4;
  Episode episode = episode_of({{writes, 1}});
  episode.turns[0].prompt.assign(500, 1);  // as long as it likes
  auto answers = answers_from({episode}, {0}, credit, 100);
  EXPECT_EQ(answers[0].length_penalty, 0);
  answers = answers_from({episode}, {0}, credit, 6);  // two of the last four tokens
  EXPECT_DOUBLE_EQ(answers[0].length_penalty, -0.5);
  EXPECT_DOUBLE_EQ(answers[0].score, 0.5);
  EXPECT_DOUBLE_EQ(answers[0].reward, 1);
}

TEST(Experience, GroupsAreOfOneTaskAndRoleWhateverTheTurn) {
  // A Generator may speak again in the second turn, when its first answer was no kernel.
  const std::vector<Episode> episodes{episode_of({{writes, 0}, {writes, 1}}), episode_of({{writes, 1}, {improves, 5}}),
                                      episode_of({{writes, 3}, {improves, 7}})};
  CreditOptions credit;
  credit.discount = 0;
  auto answers = answers_from(episodes, {0, 0, 1}, credit);
  set_advantages(answers, Algorithm::dr_grpo, credit.rule);
  // Task 0, Generator: 0, 1, 1.
  EXPECT_NEAR(answers[0].advantage, -2.0 / 3, 1e-12);
  EXPECT_NEAR(answers[1].advantage, 1.0 / 3, 1e-12);
  EXPECT_NEAR(answers[2].advantage, 1.0 / 3, 1e-12);
  for (const std::size_t alone : {3u, 4u, 5u}) {
    EXPECT_FALSE(answers[alone].teaches) << "nothing to be compared with";
    EXPECT_EQ(answers[alone].advantage, 0);
  }
}

TEST(Experience, EqualScoresTeachNothing) {
  // The mean of three 0.7 is not 0.7 in floating point.
  const std::vector<Episode> episodes{episode_of({{writes, 0.7}}), episode_of({{writes, 0.7}}),
                                      episode_of({{writes, 0.7}}), episode_of({{writes, 0}}),
                                      episode_of({{writes, 1}})};
  const std::vector<std::int64_t> tasks{0, 0, 0, 1, 1};
  for (const Algorithm algorithm : {Algorithm::grpo, Algorithm::dr_grpo, Algorithm::rloo, Algorithm::dapo}) {
    auto answers = answers_from(episodes, tasks);
    const GroupCounts counts = set_advantages(answers, algorithm, CreditRule::later);
    EXPECT_EQ(counts.groups, 2);
    EXPECT_EQ(counts.without_contrast, 1);
    for (const std::size_t equal : {0u, 1u, 2u}) {
      EXPECT_EQ(answers[equal].advantage, 0);
      EXPECT_EQ(answers[equal].teaches, algorithm != Algorithm::dapo);
    }
    EXPECT_LT(answers[3].advantage, 0);
    EXPECT_GT(answers[4].advantage, 0);
    if (algorithm == Algorithm::dapo) {
      EXPECT_EQ(tasks_that_teach(answers, tasks), std::vector<std::int64_t>{1});
    }
  }
}

}  // namespace
}  // namespace kw
