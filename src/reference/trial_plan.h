#pragma once
// When repeated timings are enough.

#include <vector>

#include "base/statistics.h"
#include "reference/reference.h"

namespace kw {

// 95 % interval of the median, free of assumptions about the distribution: two order statistics whose ranks are
// quantiles of the binomial distribution B(n, 1/2), by its normal approximation. All of the range for fewer than six
// samples, where no two ranks reach 95 %. Needs at least one sample.
Interval median_interval(std::vector<double> samples);

bool trials_are_enough(const std::vector<double>& trials_us, double wall_ms, const TimingOptions& options);

}  // namespace kw
