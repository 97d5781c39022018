#include "learn/rl/step_bound.h"

#include <gtest/gtest.h>

#include "model/decoder/pass_work.h"
#include "model/decoder/presets.h"

namespace kw {
namespace {

constexpr MachineRoof roof{.flops = 100, .bytes_per_s = 10, .cache_bytes = 50};

StepWork some_step() {
  StepWork work;
  work.generating_s = 10;
  work.judging_s = 8;
  work.both_s = 6;
  work.conversations_s = 13;
  work.update_s = 3;
  work.rollout = {.flops = 500, .bytes = 30, .working_bytes = 100};
  work.update_flops = 150;
  work.judged = 16;
  work.judge_kernels_per_s = 4;
  return work;
}

TEST(StepBound, TimesRatesAndLimits) {
  const StepBound bound = bound_of(some_step(), roof);
  EXPECT_DOUBLE_EQ(bound.step_s, 16);
  EXPECT_DOUBLE_EQ(bound.other_s, 1);
  ASSERT_EQ(bound.parts.size(), 3u);
  const StepPart &rollout = bound.parts[0], &judge = bound.parts[1], &update = bound.parts[2];
  EXPECT_DOUBLE_EQ(rollout.alone_s, 4);
  EXPECT_EQ(rollout.limited_by, "arithmetic");  // 5 s of it, 3 s of memory
  EXPECT_DOUBLE_EQ(rollout.share_of_limit(), 0.5);
  EXPECT_DOUBLE_EQ(judge.alone_s, 2);
  EXPECT_DOUBLE_EQ(judge.rate, 2);
  EXPECT_DOUBLE_EQ(judge.share_of_limit(), 0.5);
  EXPECT_DOUBLE_EQ(update.share_of_limit(), 0.5);
}

TEST(StepBound, NamesThePartThatAFasterOneWouldSaveMostOf) {
  StepWork work = some_step();
  EXPECT_EQ(bound_of(work, roof).bound, "rollout and judge");
  work.both_s = 1;
  EXPECT_EQ(bound_of(work, roof).bound, "rollout");
  work.judging_s = 12;
  EXPECT_EQ(bound_of(work, roof).bound, "judge");
  work.update_s = 50;
  EXPECT_EQ(bound_of(work, roof).bound, "update");
  EXPECT_NEAR(bound_of(work, roof).bound_share, 50.0 / 63, 1e-12);
}

TEST(StepBound, MemoryBindsWhereNoCacheHoldsIt) {
  StepWork work = some_step();
  work.rollout.bytes = 90;  // 9 s
  const StepPart slow = bound_of(work, roof).parts[0];
  EXPECT_EQ(slow.limited_by, "memory");
  EXPECT_EQ(slow.unit, "B/s");
  EXPECT_DOUBLE_EQ(slow.share_of_limit(), 0.9);
  work.rollout.working_bytes = 40;
  EXPECT_EQ(bound_of(work, roof).parts[0].limited_by, "arithmetic");
}

TEST(StepBound, NothingDoneIsNoDivision) {
  const StepBound bound = bound_of({}, {});
  EXPECT_EQ(bound.bound_share, 0);
  for (const StepPart& part : bound.parts) EXPECT_EQ(part.share_of_limit(), 0);
}

TEST(StepBound, WorkOfAnswers) {
  const ModelDescription model = preset_description("tiny-1m", 400).value();
  ExperiencedAnswer answer;
  answer.prompt.assign(10, 1);
  answer.tokens.assign(3, 2);
  const RolloutWork work = rollout_work(model, {answer, answer}, 4, {.weights = 1000, .of_position = 5});
  // Each token looks at the prompt, at those before it and at itself.
  EXPECT_DOUBLE_EQ(work.bytes, 4 * 1000 + 2 * (30 + 1 + 2 + 3) * 5);
  EXPECT_DOUBLE_EQ(work.working_bytes, work.bytes / 4);
  PackedBatch batch;
  batch.tokens.assign(26, 1);
  batch.starts = {0, 13, 26};
  for (int i = 0; i < 26; ++i) batch.scored.push_back(i % 13 >= 10);
  EXPECT_DOUBLE_EQ(work.flops, forward_flops(model, batch));
  EXPECT_EQ(rollout_work(model, {}, 0, {}).bytes, 0);
}

}  // namespace
}  // namespace kw
