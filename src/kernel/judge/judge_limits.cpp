#include "kernel/judge/judge_limits.h"

#include <algorithm>

#include "kernel/judge/missing_time.h"

namespace kw {
namespace {

// What the process needs for itself: libtorch, the reference's answers, the compiler's results.
constexpr std::uint64_t own_memory_bytes = std::uint64_t{1} << 30;

// A verdict that does not become another one because something was not finished.
bool is_settled(VerdictStatus status) {
  return status == VerdictStatus::wrong || status == VerdictStatus::fault || status == VerdictStatus::race ||
         status == VerdictStatus::rejected || status == VerdictStatus::compile_error ||
         status == VerdictStatus::launcher_error;
}

std::string kind_of(ExceededLimit::What what) {
  switch (what) {
    case ExceededLimit::What::work:
      return "work_limit";
    case ExceededLimit::What::memory:
      return "memory_limit";
    case ExceededLimit::What::wall_clock:
      return "wall_clock_limit";
  }
  return "work_limit";
}

}  // namespace

JudgeLimits limits_for(double seconds, std::uint64_t memory_bytes) {
  const double units = static_cast<double>(JudgeLimits::default_work_units) * seconds / JudgeLimits::default_seconds;
  return {static_cast<std::uint64_t>(units), seconds, memory_bytes};
}

WorkLimits work_limits(const JudgeLimits& limits) {
  const std::uint64_t memory =
      std::clamp(limits.memory_bytes, 2 * own_memory_bytes, JudgeLimits::most_memory_bytes) - own_memory_bytes;
  return {limits.work_units, memory, std::chrono::milliseconds(static_cast<std::int64_t>(limits.seconds * 1e3))};
}

void note_work(const WorkBudget& budget, Verdict& verdict) {
  verdict.work.units = budget.spent();
  verdict.work.allowed_units = budget.limits().units;
  verdict.work.memory_bytes = budget.most_held_bytes();
  verdict.work.allowed_memory_bytes = budget.limits().held_bytes;
  verdict.work.by_kind.clear();
  for (std::size_t i = 0; i < work_kinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    if (budget.spent_on(kind) > 0) verdict.work.by_kind.emplace_back(name_of(kind), budget.spent_on(kind));
  }
  const auto limit = budget.exceeded();
  if (!limit || is_settled(verdict.status)) return;
  verdict.may_differ = limit->what == ExceededLimit::What::wall_clock;
  // Every value was checked; what ran out was the work for the time.
  if (verdict.status == VerdictStatus::correct && verdict.full_size == "checked") {
    set_no_time(verdict, "the kernel's time cannot be modelled: " + limit->message, limit->advice);
    return;
  }
  VerdictFinding finding;
  finding.kind = kind_of(limit->what);
  finding.message = limit->message;
  finding.advice = limit->advice;
  // Where it was when it was stopped.
  for (const VerdictFinding& found : verdict.findings)
    if (finding.line == 0 && found.kind == "endless_loop") {
      finding.line = found.line;
      finding.column = found.column;
      finding.kernel = found.kernel;
    }
  verdict.findings.clear();
  forget_times(verdict);
  verdict.status = limit->what == ExceededLimit::What::memory ? VerdictStatus::rejected : VerdictStatus::timeout;
  verdict.summary = limit->message;
  add_finding(verdict, std::move(finding));
}

}  // namespace kw
