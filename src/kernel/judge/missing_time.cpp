#include "kernel/judge/missing_time.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

bool has_flag(const Verdict& verdict, const std::string& flag) {
  return std::find(verdict.flags.begin(), verdict.flags.end(), flag) != verdict.flags.end();
}

void add_flag(Verdict& verdict, const std::string& flag) {
  if (!has_flag(verdict, flag)) verdict.flags.push_back(flag);
}

bool is_time(double us) { return std::isfinite(us) && us > 0; }

}  // namespace

void forget_times(Verdict& verdict) {
  verdict.times.clear();
  verdict.time_us.reset();
  verdict.time_source.clear();
  verdict.time_interval_us.reset();
  verdict.speedup_naive.reset();
  verdict.speedup_pytorch.reset();
  verdict.speedup_pytorch_interval.reset();
  verdict.speedup_pytorch_tf32.reset();
  verdict.share_of_limit.reset();
  verdict.speedup_interval.reset();
  verdict.faster_than_naive = false;
  verdict.limiter.clear();
  verdict.terms.clear();
  verdict.hot_lines.clear();
}

void set_no_time(Verdict& verdict, const std::string& reason, const std::string& advice) {
  forget_times(verdict);
  add_flag(verdict, no_time_flag);
  VerdictFinding finding;
  finding.kind = no_time_flag;
  finding.severity = Severity::warning;
  finding.message = reason;
  finding.advice = advice;
  add_finding(verdict, std::move(finding));
}

void settle_time(Verdict& verdict, bool wanted) {
  if (verdict.status != VerdictStatus::correct) return;
  if (!wanted) {
    add_flag(verdict, not_timed_flag);
    return;
  }
  const bool sized = std::all_of(verdict.times.begin(), verdict.times.end(),
                                 [](const SizedTime& time) { return is_time(time.time_us); });
  if (verdict.time_us && (!is_time(*verdict.time_us) || !sized))
    set_no_time(verdict, "the model gives a time that is none (zero, or not a number)");
  // Judging small sizes alone was asked for, and is said by its own flag.
  if (!verdict.time_us && !has_flag(verdict, no_time_flag) && !has_flag(verdict, "small_only"))
    set_no_time(verdict, "no size was timed");
}

std::string missing_time_reason(const Verdict& verdict) {
  if (verdict.status != VerdictStatus::correct || verdict.time_us) return "";
  for (const VerdictFinding& hint : verdict.hints)
    if (hint.kind == no_time_flag) return hint.message;
  return "";
}

}  // namespace kw
