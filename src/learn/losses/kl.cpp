#include "learn/losses/kl.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace kw {
namespace {

constexpr double most_log_ratio = 20, most_k3 = 10;

}  // namespace

std::string_view to_string(KlEstimator estimator) {
  if (estimator == KlEstimator::k1) return "k1";
  return estimator == KlEstimator::k2 ? "k2" : "k3";
}

Result<KlEstimator> kl_estimator_from(std::string_view name) {
  for (const KlEstimator each : {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3})
    if (to_string(each) == name) return each;
  return Error{"there is no KL estimator '" + std::string(name) + "'", "use k1, k2 or k3", {}};
}

KlTerm kl_term(KlEstimator estimator, double log_prob, double reference_log_prob) {
  const double difference = log_prob - reference_log_prob;
  if (estimator == KlEstimator::k1) return {difference, 1};
  if (estimator == KlEstimator::k2) return {0.5 * difference * difference, difference};
  const double kept = std::clamp(-difference, -most_log_ratio, most_log_ratio);
  const double ratio = std::exp(kept), value = ratio - kept - 1;
  if (value > most_k3) return {most_k3, 0};
  return {value, kept == -difference ? 1 - ratio : 0};
}

double mean_kl(KlEstimator estimator, std::span<const float> log_prob, std::span<const float> reference_log_prob,
               std::span<const std::uint8_t> mask) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) {
    if (mask[i] == 0) continue;
    sum += kl_term(estimator, log_prob[i], reference_log_prob[i]).value;
    ++count;
  }
  return sum / std::max(count, 1.0);
}

void AdaptiveKl::update(double measured_kl, double answers) {
  const double error = std::clamp(measured_kl / target - 1, -0.2, 0.2);
  coefficient *= 1 + error * answers / horizon;
}

}  // namespace kw
