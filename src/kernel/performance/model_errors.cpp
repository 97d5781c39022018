#include "kernel/performance/model_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/statistics.h"

namespace kw {
namespace {

double factor_of(double modelled, double measured) { return std::max(modelled / measured, measured / modelled); }

// Equal values share the mean of their ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> found(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) found[order[i]] = 0.5 * static_cast<double>(first + end - 1);
    first = end;
  }
  return found;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = mean(a), mean_b = mean(b);
  double both = 0, only_a = 0, only_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    only_a += (a[i] - mean_a) * (a[i] - mean_a);
    only_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return only_a > 0 && only_b > 0 ? both / std::sqrt(only_a * only_b) : 0;
}

double kendall(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const double product = (a[i] - a[k]) * (b[i] - b[k]);
      sum += product > 0 ? 1 : product < 0 ? -1 : 0;
      pairs += 1;
    }
  return pairs > 0 ? sum / pairs : 0;
}

}  // namespace

ModelErrors model_errors(const std::vector<MeasuredPlan>& plans, const std::vector<double>& modelled_us,
                         bool full_size_only) {
  ModelErrors errors;
  std::vector<double> modelled, measured, factors;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> same_work;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (full_size_only && plans[i].kind == "small") continue;
    same_work[{plans[i].task, plans[i].size}].push_back(modelled.size());
    modelled.push_back(modelled_us[i]);
    measured.push_back(plans[i].measured_us);
    factors.push_back(factor_of(modelled_us[i], plans[i].measured_us));
    errors.mean_percent += 100 * std::abs(modelled_us[i] / plans[i].measured_us - 1);
  }
  errors.times = modelled.size();
  if (modelled.empty()) return errors;
  errors.mean_percent /= static_cast<double>(modelled.size());
  for (const auto& [work, members] : same_work)
    for (std::size_t a : members)
      for (std::size_t b : members) {
        if (measured[a] < clear_difference * measured[b]) continue;
        ++errors.pairs;
        errors.pairs_right += modelled[a] > modelled[b] ? 1 : 0;
      }
  errors.spearman = correlation(ranks(modelled), ranks(measured));
  errors.kendall = kendall(modelled, measured);
  errors.median_factor = median(factors);
  errors.factor_90 = quantile(factors, 0.9);
  return errors;
}

std::vector<std::size_t> farthest_off(const std::vector<MeasuredPlan>& plans, const std::vector<double>& modelled_us,
                                      std::size_t most) {
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), 0);
  auto factor = [&](std::size_t i) { return factor_of(modelled_us[i], plans[i].measured_us); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return factor(a) > factor(b); });
  order.resize(std::min(most, order.size()));
  return order;
}

}  // namespace kw
