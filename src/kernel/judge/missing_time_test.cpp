#include "kernel/judge/missing_time.h"

#include <cmath>
#include <limits>

#include "kernel/judge/feedback.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

bool has_flag(const Verdict& verdict, const std::string& flag) {
  return std::find(verdict.flags.begin(), verdict.flags.end(), flag) != verdict.flags.end();
}

Verdict timed(double us) {
  Verdict verdict;
  verdict.status = VerdictStatus::correct;
  verdict.time_us = us;
  verdict.time_source = "modelled";
  SizedTime time;
  time.time_us = us;
  verdict.times = {time};
  return verdict;
}

TEST(MissingTime, ATimeIsLeftAlone) {
  Verdict verdict = timed(3);
  settle_time(verdict, true);
  EXPECT_EQ(verdict.time_us, 3);
  EXPECT_TRUE(verdict.flags.empty());
  EXPECT_EQ(missing_time_reason(verdict), "");
}

TEST(MissingTime, WhatIsNoNumberIsNoTime) {
  for (const double us : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    Verdict verdict = timed(us);
    settle_time(verdict, true);
    EXPECT_FALSE(verdict.time_us) << us;
    EXPECT_TRUE(verdict.times.empty());
    EXPECT_TRUE(has_flag(verdict, no_time_flag));
    EXPECT_NE(missing_time_reason(verdict), "");
    EXPECT_NE(feedback_text(verdict, "").find("time: not known: "), std::string::npos);
  }
}

TEST(MissingTime, NoTimeGetsAReason) {
  Verdict verdict;
  verdict.status = VerdictStatus::correct;
  settle_time(verdict, true);
  EXPECT_TRUE(has_flag(verdict, no_time_flag));
  EXPECT_EQ(verdict.hints.size(), 1u);
  settle_time(verdict, true);
  EXPECT_EQ(verdict.hints.size(), 1u);
}

TEST(MissingTime, NobodyAsked) {
  Verdict verdict;
  verdict.status = VerdictStatus::correct;
  settle_time(verdict, false);
  EXPECT_EQ(verdict.flags, std::vector<std::string>{not_timed_flag});
  EXPECT_TRUE(verdict.hints.empty());
  Verdict wrong;
  wrong.status = VerdictStatus::wrong;
  settle_time(wrong, true);
  EXPECT_TRUE(wrong.flags.empty() && wrong.hints.empty());
}

// Parts of the array, each by a launch of its own: more different launches than the model counts.
const std::string many_launches = R"(
__global__ void relu(const float* x, float* y, long long first, long long last) {
  long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < last) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const long long part = (n + 19LL) / 20;
  for (int k = 0; k < 20; ++k) {
    const long long first = k * part, last = first + part < n ? first + part : n;
    if (first < last) relu<<<(int)((last - first + 255) / 256), 256, 0, stream>>>(x, y, first, last);
  }
}
)";

TEST(MissingTime, APlanThatCannotBeTimedSaysWhy) {
  const Verdict verdict = test_judge().judge(suite_task("relu"), many_launches, "many.cu");
  ASSERT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_FALSE(verdict.time_us);
  EXPECT_TRUE(verdict.times.empty() && verdict.time_source.empty() && verdict.limiter.empty());
  EXPECT_TRUE(has_flag(verdict, no_time_flag));
  EXPECT_NE(missing_time_reason(verdict).find("different launches"), std::string::npos) << missing_time_reason(verdict);
  EXPECT_NE(verdict.feedback.find("time: not known: "), std::string::npos) << verdict.feedback;
}

// Blocks that wait for each other: the sampled block leaves its wait early.
TEST(MissingTime, ATimeOfBlocksThatWaitIsCalledRough) {
  const CorpusKernel kernel = CorpusKernel::read(source_root() / "tests/correct/decoupled_lookback.cu");
  const Verdict verdict = test_judge().judge(suite_task(kernel.facts.at("task")), kernel.text, "lookback.cu");
  ASSERT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_TRUE(has_flag(verdict, "rough_time") || has_flag(verdict, no_time_flag));
  EXPECT_TRUE(std::any_of(verdict.hints.begin(), verdict.hints.end(), [](const VerdictFinding& hint) {
    return hint.kind == "rough_time" || hint.kind == no_time_flag;
  }));
}

}  // namespace
}  // namespace kw
