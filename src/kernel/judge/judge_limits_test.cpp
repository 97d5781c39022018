#include "kernel/judge/judge_limits.h"

#include <gtest/gtest.h>

#include "kernel/judge/compile_limits.h"
#include "kernel/judge/missing_time.h"

namespace kw {
namespace {

// A judgement that came to `status` and ran out of work then.
Verdict after_running_out(VerdictStatus status, const std::string& full_size) {
  WorkBudget budget({1000, std::uint64_t{1} << 20, std::chrono::seconds(60)});
  EXPECT_FALSE(budget.charge(WorkKind::instructions, 5000, 5000));
  Verdict verdict;
  verdict.status = status;
  verdict.full_size = full_size;
  verdict.time_us = 3.0;
  note_work(budget, verdict);
  return verdict;
}

TEST(JudgeLimits, WorkThatRanOutAfterEveryValueWasCheckedCostsOnlyTheTime) {
  const Verdict verdict = after_running_out(VerdictStatus::correct, "checked");
  EXPECT_EQ(verdict.status, VerdictStatus::correct);
  EXPECT_FALSE(verdict.time_us.has_value());
  EXPECT_NE(missing_time_reason(verdict).find("units of work"), std::string::npos) << missing_time_reason(verdict);
}

TEST(JudgeLimits, WorkThatRanOutEarlierIsATimeout) {
  for (const char* full_size : {"", "unchecked"}) {
    const Verdict verdict = after_running_out(VerdictStatus::correct, full_size);
    EXPECT_EQ(verdict.status, VerdictStatus::timeout) << full_size;
    EXPECT_FALSE(verdict.time_us.has_value());
    EXPECT_EQ(verdict.findings.front().kind, "work_limit");
  }
  EXPECT_EQ(after_running_out(VerdictStatus::wrong, "checked").status, VerdictStatus::wrong);
}

// A machine that gives the compiler a tenth of a processor must not end a kernel that compiles within its limit.
TEST(JudgeLimits, ACompilerIsHeldToProcessorTimeAndMayWaitForIt) {
  for (const double seconds : {0.5, 5.0, 30.0, 3600.0}) {
    const CompileLimits limits = compile_limits(seconds);
    EXPECT_GE(limits.cpu_seconds, 1) << seconds;
    EXPECT_LE(limits.cpu_seconds, 6) << seconds;
    EXPECT_GE(limits.wall_ms, 10'000 * limits.cpu_seconds) << seconds;
  }
  EXPECT_EQ(compile_limits(JudgeLimits::default_seconds).cpu_seconds, 6);
  EXPECT_EQ(compile_limits(10).cpu_seconds, 2);
}

}  // namespace
}  // namespace kw
