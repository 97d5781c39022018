#include "app/experiment/sample_ratio.h"

#include <cmath>
#include <numeric>

#include "base/check.h"

namespace kw {

double sample_ratio_log_evidence(const std::vector<std::int64_t>& counts, const std::vector<double>& weights) {
  KW_CHECK(counts.size() == weights.size());
  if (counts.size() < 2) return 0;
  const double weight_sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  double log_evidence = std::lgamma(sample_ratio_concentration) - std::lgamma(sample_ratio_concentration + total);
  for (std::size_t arm = 0; arm < counts.size(); ++arm) {
    const double share = weights[arm] / weight_sum, prior = sample_ratio_concentration * share;
    const auto count = static_cast<double>(counts[arm]);
    log_evidence += std::lgamma(prior + count) - std::lgamma(prior) - count * std::log(share);
  }
  return log_evidence;
}

bool sample_ratio_is_off(const std::vector<std::int64_t>& counts, const std::vector<double>& weights) {
  return sample_ratio_log_evidence(counts, weights) >= std::log(1 / sample_ratio_alpha);
}

}  // namespace kw
