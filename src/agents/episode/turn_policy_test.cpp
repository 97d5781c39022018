#include "agents/episode/turn_policy.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::shared_ptr<const Verdict> right_in(double time_us, std::optional<double> speedup = std::nullopt) {
  auto verdict = std::make_shared<Verdict>();
  verdict->status = VerdictStatus::correct;
  verdict->compiled = verdict->correct = true;
  verdict->full_size = "checked";
  verdict->time_us = time_us;
  verdict->time_source = "modelled";
  verdict->speedup_naive = speedup;
  return verdict;
}

Turn turn_with(int index, std::vector<std::shared_ptr<const Verdict>> verdicts) {
  Turn turn;
  turn.index = index;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    TurnSample sample;
    sample.kernel = "kernel " + std::to_string(index) + " " + std::to_string(i);
    sample.verdict = verdicts[i];
    turn.samples.push_back(std::move(sample));
  }
  return turn;
}

TEST(TurnPolicy, WithoutANaiveKernelTheFastestRightKernelIsTheBest) {
  const EpisodeOptions options = episode_options().value();
  Episode episode;
  take_turn(episode, turn_with(0, {right_in(22.7), right_in(30)}), options);
  EXPECT_EQ(episode.best, 0);
  EXPECT_EQ(episode.turns[0].chosen, 0);
  take_turn(episode, turn_with(1, {right_in(40), right_in(16.9)}), options);
  EXPECT_EQ(episode.turns[1].chosen, 1);
  EXPECT_EQ(episode.best, 1);
  EXPECT_EQ(episode.current, 1);
  take_turn(episode, turn_with(2, {right_in(18)}), options);
  EXPECT_EQ(episode.best, 1);
  const auto gain = gain_of(episode);
  ASSERT_TRUE(gain);
  EXPECT_EQ(gain->from, 0);
  EXPECT_NEAR(gain->factor, 22.7 / 16.9, 1e-12);
}

TEST(TurnPolicy, WithANaiveKernelTheSpeedupDecides) {
  const EpisodeOptions options = episode_options().value();
  Episode episode;
  take_turn(episode, turn_with(0, {right_in(20, 2.0)}), options);
  // As fast as the judge can tell, whatever the clock says: the first one stays.
  take_turn(episode, turn_with(1, {right_in(19, 2.0)}), options);
  EXPECT_EQ(episode.best, 0);
  take_turn(episode, turn_with(2, {right_in(10, 4.0)}), options);
  EXPECT_EQ(episode.best, 2);
}

}  // namespace
}  // namespace kw
