#pragma once
// What one judgement may cost, whatever the kernel does (docs/verdict.md, "What a judgement may cost").

#include <cstdint>

#include "base/work_budget.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct JudgeLimits {
  static constexpr double default_seconds = 30;
  static constexpr std::uint64_t default_memory_bytes = std::uint64_t{4} << 30;
  static constexpr std::uint64_t most_memory_bytes = std::uint64_t{8} << 30;

  // A unit is about a nanosecond of one core, see base/work_budget.h; a slow core may take three times as long.
  static constexpr std::uint64_t default_work_units = 22'000'000'000;

  std::uint64_t work_units = default_work_units;
  double seconds = default_seconds;                   // by the wall clock, as the last resort
  std::uint64_t memory_bytes = default_memory_bytes;  // of the process, for one judgement
};

// With as much work, in proportion, as the default time has.
JudgeLimits limits_for(double seconds, std::uint64_t memory_bytes);
WorkLimits work_limits(const JudgeLimits& limits);

// What the judgement has cost goes into the verdict. Where a limit was exceeded, the verdict says so, unless the kernel
// was found to be wrong before.
void note_work(const WorkBudget& budget, Verdict& verdict);

}  // namespace kw
