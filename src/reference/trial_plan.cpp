#include "reference/trial_plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kw {
namespace {
constexpr std::size_t trials_least = 3;  // also when the budget is spent: one alone says nothing
}

Interval median_interval(std::vector<double> samples) {
  KW_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  const double half_width = 1.96 * std::sqrt(count) / 2;
  const double low = std::floor(count / 2 - half_width);  // ranks from 1
  const double high = std::ceil(count / 2 + 1 + half_width);
  if (low < 1 || high > count) return {samples.front(), samples.back()};
  return {samples[static_cast<std::size_t>(low) - 1], samples[static_cast<std::size_t>(high) - 1]};
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
