#include "app/experiment/trial_counts.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace kw {

void ArmComparison::add(bool of_candidate, const MetricValues& values) {
  auto& own = of_candidate ? candidates_ : controls_;
  auto& other = of_candidate ? controls_ : candidates_;
  if (other.empty()) {
    own.push_back(values);
    if (own.size() > most_unpaired) own.pop_front();
    return;
  }
  const MetricValues partner = other.front();
  other.pop_front();
  for (const auto& one : all_metrics()) {
    const auto index = static_cast<std::size_t>(one.metric);
    const double gain = of_candidate ? gain_of(one.metric, values[index], partner[index])
                                     : gain_of(one.metric, partner[index], values[index]);
    if (!std::isnan(gain)) gains_[index].add(gain);
  }
}

double ArmTotals::average(Metric metric) const {
  const auto index = static_cast<std::size_t>(metric);
  if (measured[index] == 0) return std::numeric_limits<double>::quiet_NaN();
  const double mean = sums[index] / static_cast<double>(measured[index]);
  return describe(metric).kind == MetricKind::ratio ? std::exp(mean) : mean;
}

TrialCounts::TrialCounts(std::size_t arms, std::size_t stages) : arms_(arms), comparisons_(arms - 1) {
  KW_CHECK(arms >= 2);
  for (auto& arm : arms_) arm.outcomes_at_stage.resize(stages);
}

void TrialCounts::add_user(std::size_t arm) { ++arms_.at(arm).users; }

void TrialCounts::add_outcome(std::size_t arm, std::size_t stage, const Outcome& outcome) {
  const MetricValues values = values_of(outcome);
  ArmTotals& totals = arms_.at(arm);
  ++totals.outcomes;
  ++totals.outcomes_at_stage.at(stage);
  for (std::size_t index = 0; index < metric_count; ++index) {
    if (std::isnan(values[index])) continue;
    ++totals.measured[index];
    totals.sums[index] += values[index];
  }
  // A control's outcome is a partner for every candidate.
  for (std::size_t candidate = 1; candidate < arms_.size(); ++candidate)
    if (arm == 0 || arm == candidate) comparisons_[candidate - 1].add(arm == candidate, values);
}

}  // namespace kw
