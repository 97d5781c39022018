#include "kernel/judge/judge_limits.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kw
