#include "agents/episode/judge_failures.h"

#include <fmt/format.h>

namespace kw {

void JudgeFailures::count(const Verdict& verdict) {
  ++asked;
  if (verdict.status != VerdictStatus::internal_error) return;
  ++failed;
  why = verdict.summary;
}

Result<void> JudgeFailures::check() const {
  if (failed * 2 <= asked) return {};
  return Error{
      fmt::format("the judge failed for {} of {} kernels: {}", failed, asked, why), "the same command resumes", {}};
}

JudgeFailures judge_failures(const std::vector<Episode>& episodes) {
  JudgeFailures failures;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns)
      for (const TurnSample& sample : turn.samples)
        if (sample.verdict) failures.count(*sample.verdict);
  return failures;
}

}  // namespace kw
