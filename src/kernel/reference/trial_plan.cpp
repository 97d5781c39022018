#include "kernel/reference/trial_plan.h"

#include <algorithm>

namespace kw {
namespace {
constexpr std::size_t trials_least = 3;  // also when the budget is spent: one alone says nothing
}

bool trials_are_enough(const std::vector<double>& trials_us, double wall_ms, const TimingOptions& options) {
  if (trials_us.size() < trials_least) return false;
  if (trials_us.size() >= static_cast<std::size_t>(std::max(options.trials_max, 0))) return true;
  if (wall_ms >= options.budget_ms) return true;
  if (trials_us.size() < static_cast<std::size_t>(std::max(options.trials_min, 0))) return false;
  const Interval interval = median_interval(trials_us);
  return interval.high - interval.low <= options.relative_interval * (interval.high + interval.low) / 2;
}

}  // namespace kw
