#pragma once
// How often the judge itself failed. Now and then costs kernels, which are left out; all the time must not look like
// agents that got worse.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/episode/episode.h"
#include "base/result.h"

namespace kw {

struct JudgeFailures {
  std::int64_t asked = 0, failed = 0;
  std::string why;  // the last one's

  void count(const Verdict& verdict);
  // An error when it failed for more than half of what it was asked about.
  Result<void> check() const;
};

JudgeFailures judge_failures(const std::vector<Episode>& episodes);

}  // namespace kw
