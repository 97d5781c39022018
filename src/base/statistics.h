#pragma once
// Statistics of repeated measurements: a figure is reported with the interval that it is known to.

#include <cstdint>
#include <functional>
#include <vector>

namespace kw {

struct Interval {
  double low = 0;
  double high = 0;
};

double mean(const std::vector<double>& samples);
// Unbiased (n - 1); 0 for fewer than two samples.
double standard_deviation(const std::vector<double>& samples);
// Linear interpolation between order statistics (Hyndman and Fan's type 7); fraction in [0, 1].
double quantile(std::vector<double> samples, double fraction);
double median(std::vector<double> samples);

// Of the median, by order statistics: true for any distribution. With fewer than six samples, their range.
Interval median_interval(std::vector<double> samples, double confidence = 0.95);

// Percentile bootstrap of any statistic; reproducible from the seed.
using Statistic = std::function<double(const std::vector<double>&)>;
Interval bootstrap_interval(const std::vector<double>& samples, const Statistic& statistic, double confidence = 0.95,
                            int resamples = 1000, std::uint64_t seed = 1);

}  // namespace kw
