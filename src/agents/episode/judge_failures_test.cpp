#include "agents/episode/judge_failures.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Episode conversation(const std::vector<VerdictStatus>& statuses) {
  Episode episode;
  for (const VerdictStatus status : statuses) {
    auto verdict = std::make_shared<Verdict>();
    verdict->status = status;
    verdict->summary = "the compile worker was lost";
    TurnSample sample;
    sample.verdict = std::move(verdict);
    Turn turn;
    turn.samples = {sample, TurnSample()};  // one without a kernel, the judge was not asked
    episode.turns.push_back(std::move(turn));
  }
  return episode;
}

TEST(JudgeFailures, MostOfTheTimeIsAnError) {
  using enum VerdictStatus;
  EXPECT_TRUE(judge_failures({}).check().ok());
  EXPECT_TRUE(
      judge_failures({conversation({correct, internal_error}), conversation({timeout, internal_error})}).check().ok());
  const JudgeFailures failures =
      judge_failures({conversation({internal_error, internal_error}), conversation({wrong})});
  EXPECT_EQ(failures.asked, 3);
  const auto checked = failures.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message, "the judge failed for 2 of 3 kernels: the compile worker was lost");
}

}  // namespace
}  // namespace kw
