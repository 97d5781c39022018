#pragma once
// Everything that decisions are made of, counted: users by arm, requests by arm, and for each candidate the gains over
// the control, metric by metric. It depends on the order of outcomes alone, so reading them again gives the same
// counts.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "app/experiment/betting.h"
#include "app/experiment/metric.h"

namespace kw {

// One candidate against the control. Each outcome of the one is compared with one outcome of the other, in the order in
// which they came: a pair's gain has the difference of the arms as its mean whatever the arms have in common, such as
// tasks that are harder in the evening. Which outcomes make a pair does not depend on their values.
class ArmComparison {
 public:
  // At equal weights hardly anything is left over. With a much larger control its oldest outcomes are dropped, so that
  // pairs are of about the same time.
  static constexpr std::size_t most_unpaired = 256;

  void add(bool of_candidate, const MetricValues& values);
  const GainCounts& gains(Metric metric) const { return gains_[static_cast<std::size_t>(metric)]; }

  friend bool operator==(const ArmComparison& a, const ArmComparison& b) { return a.gains_ == b.gains_; }

 private:
  std::deque<MetricValues> candidates_, controls_;  // one of them is empty
  std::array<GainCounts, metric_count> gains_;
};

// What one arm did, for people to read.
struct ArmTotals {
  std::int64_t users = 0;     // who were shown this arm, each once
  std::int64_t outcomes = 0;  // that were compared
  std::vector<std::int64_t> outcomes_at_stage;
  std::array<std::int64_t, metric_count> measured{};
  std::array<double, metric_count> sums{};  // of MetricValues

  // A rate, or the geometric mean of a ratio; NaN when nothing was measured.
  double average(Metric metric) const;

  friend bool operator==(const ArmTotals&, const ArmTotals&) = default;
};

class TrialCounts {
 public:
  explicit TrialCounts(std::size_t arms, std::size_t stages);

  void add_user(std::size_t arm);
  void add_outcome(std::size_t arm, std::size_t stage, const Outcome& outcome);

  const ArmTotals& arm(std::size_t index) const { return arms_[index]; }
  const ArmComparison& against_control(std::size_t candidate) const { return comparisons_[candidate - 1]; }

  friend bool operator==(const TrialCounts&, const TrialCounts&) = default;

 private:
  std::vector<ArmTotals> arms_;
  std::vector<ArmComparison> comparisons_;  // of arms 1, 2, ...
};

}  // namespace kw
