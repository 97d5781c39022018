#pragma once
// Rates, speedups and how well they are known, from answers of a model. Several answers to one task are not independent
// of each other, so whatever has more than one answer a task is resampled by tasks.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace kw {

// The chance that at least one of k answers is right, when `right` of `answers` were: unbiased, k <= answers
// (Chen et al., "Evaluating Large Language Models Trained on Code", 2021, equation 1).
double pass_at_k(std::int64_t answers, std::int64_t right, std::int64_t k);

// Of a share of independent trials (Wilson, 1927): within [0, 1], true enough for few trials and shares near 0 and 1.
// No trials: all of [0, 1].
Interval wilson_interval(std::int64_t successes, std::int64_t trials, double confidence = 0.95);

// Of positive numbers; 0 for none.
double geometric_mean(const std::vector<double>& values);

// The answers of one task, as numbers: 1 and 0 for right and wrong, or the speedups of the right ones.
using TaskValues = std::vector<double>;

// Percentile bootstrap over tasks: a resample draws whole tasks. The statistic sees the values of all tasks drawn;
// tasks without values count as drawn. Reproducible from the seed. Fewer than two tasks: nothing is known, and low and
// high are the statistic itself.
Interval task_bootstrap_interval(const std::vector<TaskValues>& tasks, const Statistic& statistic,
                                 double confidence = 0.95, int resamples = 2000, std::uint64_t seed = 1);

struct RateEstimate {
  double value = 0;
  Interval interval;
};

// The share of ones: Wilson's interval where every task has one answer, by tasks otherwise.
RateEstimate estimated_share(const std::vector<TaskValues>& tasks);
RateEstimate estimated_mean(const std::vector<TaskValues>& tasks);
RateEstimate estimated_geometric_mean(const std::vector<TaskValues>& tasks);

// fast_p (KernelBench): the share of all answers that are right and more than p times as fast. `speedups` of the right
// ones that have a time, `answers` all that were judged.
double fast_share(std::span<const double> speedups, std::int64_t answers, double p);

}  // namespace kw
