#include "agents/episode/episode_bytes.h"

#include <gtest/gtest.h>

#include "agents/episode/episode_json.h"
#include "base/random.h"

namespace kw {
namespace {

Episode talk() {
  Episode episode;
  episode.request.number = 7;
  episode.request.task = std::make_shared<const Task>();
  Verdict verdict;
  verdict.status = VerdictStatus::correct;
  verdict.compiled = true;
  verdict.speedup_naive = 1.0 / 3;
  for (int index = 0; index < 2; ++index) {
    Turn turn;
    turn.index = index;
    turn.role = index == 0 ? AgentRole::generator : AgentRole::optimizer;
    turn.prompt = {1, 2, 3};
    turn.given_turn = index - 1;
    turn.seconds = 0.1;
    TurnSample sample;
    sample.tokens = {5, 6};
    sample.log_probs = {-0.1f, -1e-30f};
    sample.finish = FinishReason::stop_token;
    sample.weights_version = sample.last_weights_version = 3;
    sample.text = std::string("text\0with \xff bytes", 19);
    sample.outcome = AnswerOutcome::kernel;
    sample.kernel = "__global__";
    sample.predicted_correct = 0.3;
    if (index == 1) sample.verdict = std::make_shared<const Verdict>(verdict);
    sample.reward = 0.1 + index;
    turn.samples = {sample, TurnSample()};
    turn.samples[1].rewarded = false;
    episode.turns.push_back(turn);
  }
  episode.current = 1;
  episode.best = 1;
  episode.end = EpisodeEnd::turns;
  episode.tokens = 4;
  episode.seconds = 0.7;
  return episode;
}

TEST(EpisodeBytes, EverythingArrives) {
  const Episode sent = talk();
  const auto came = episode_from_bytes(to_bytes(sent), sent.request);
  ASSERT_TRUE(came.ok()) << to_string(came.error());
  EXPECT_EQ(to_bytes(*came), to_bytes(sent));
  EXPECT_EQ(came->turns.size(), 2u);
  EXPECT_EQ(came->turns[1].samples[0].log_probs[1], -1e-30f);
  EXPECT_EQ(came->turns[1].samples[0].text.size(), 19u);
  EXPECT_EQ(*came->turns[1].samples[0].verdict->speedup_naive, 1.0 / 3);
  EXPECT_EQ(came->turns[0].samples[0].verdict, nullptr);
  EXPECT_EQ(came->best, sent.best);
  EXPECT_EQ(came->end, EpisodeEnd::turns);
  EXPECT_EQ(came->seconds, 0.7);
}

TEST(EpisodeBytes, AnotherRequestsEpisodeIsRefused) {
  const Episode sent = talk();
  EpisodeRequest other = sent.request;
  other.number = 8;
  EXPECT_FALSE(episode_from_bytes(to_bytes(sent), other).ok());
}

// Cut anywhere, or with bytes changed: an error or an episode that makes sense, never more.
TEST(EpisodeBytes, DamagedBytesAreSurvived) {
  const Episode sent = talk();
  const std::string bytes = to_bytes(sent);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(episode_from_bytes(std::string_view(bytes).substr(0, length), sent.request).ok()) << length;
  Random random(11);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (int changes = 0; changes < 3; ++changes)
      damaged[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1))] =
          static_cast<char>(random.integer(0, 255));
    const auto came = episode_from_bytes(damaged, sent.request);
    if (!came.ok()) continue;
    for (const Turn& turn : came->turns) EXPECT_FALSE(chosen_sample(turn).tokens.size() > damaged.size());
  }
}

}  // namespace
}  // namespace kw
