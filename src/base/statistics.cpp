#include "base/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace kw {
namespace {

void resample(const std::vector<double>& samples, Random& random, std::vector<double>& into) {
  into.resize(samples.size());
  for (double& value : into) {
    value = samples[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(samples.size()) - 1))];
  }
}

Interval percentiles(std::vector<double> values, double confidence) {
  const double tail = (1 - confidence) / 2;
  return {quantile(values, tail), quantile(values, 1 - tail)};
}

}  // namespace

double mean(const std::vector<double>& samples) {
  KW_CHECK(!samples.empty());
  return boost::math::statistics::mean(samples);
}

double standard_deviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  return std::sqrt(boost::math::statistics::sample_variance(samples));
}

double quantile(std::vector<double> samples, double fraction) {
  KW_CHECK(!samples.empty() && fraction >= 0 && fraction <= 1);
  std::sort(samples.begin(), samples.end());
  const double place = fraction * static_cast<double>(samples.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return std::lerp(samples[below], samples[above], place - static_cast<double>(below));
}

double median(std::vector<double> samples) {
  KW_CHECK(!samples.empty());
  return boost::math::statistics::median(samples.begin(), samples.end());
}

Interval median_interval(std::vector<double> samples, double confidence) {
  KW_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  // How many samples lie below the true median is binomial.
  const boost::math::binomial below(static_cast<double>(samples.size()), 0.5);
  std::size_t rank = 0;
  while (2 * (rank + 1) < samples.size() && boost::math::cdf(below, static_cast<double>(rank)) <= (1 - confidence) / 2)
    ++rank;
  rank = rank > 0 ? rank - 1 : 0;
  return {samples[rank], samples[samples.size() - 1 - rank]};
}

Interval bootstrap_interval(const std::vector<double>& samples, const Statistic& statistic, double confidence,
                            int resamples, std::uint64_t seed) {
  KW_CHECK(!samples.empty() && resamples > 0);
  Random random(seed);
  std::vector<double> values, drawn;
  for (int i = 0; i < resamples; ++i) {
    resample(samples, random, drawn);
    values.push_back(statistic(drawn));
  }
  return percentiles(std::move(values), confidence);
}

}  // namespace kw
