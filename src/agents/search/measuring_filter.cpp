#include "agents/search/measuring_filter.h"

#include <algorithm>
#include <set>

#include "base/statistics.h"

namespace kw {

void MeasuringFilter::learn(const Candidate& candidate, double modelled_us, double measured_us) {
  if (modelled_us > 0 && measured_us > 0)
    factors_[to_string(candidate.strategies)].push_back(measured_us / modelled_us);
}

double MeasuringFilter::expected_us(const std::vector<Strategy>& strategies, double modelled_us) const {
  if (const auto known = factors_.find(to_string(strategies)); known != factors_.end())
    return modelled_us * median(known->second);
  std::vector<double> all;
  for (const auto& [name, factors] : factors_) all.push_back(median(factors));
  return all.empty() ? modelled_us : modelled_us * median(std::move(all));
}

std::vector<const Candidate*> MeasuringFilter::promising(const std::vector<const Candidate*>& fresh, double best_us,
                                                         double factor) const {
  if (factor <= 0) return fresh;
  const auto modelled = [](const Candidate& candidate) {
    const auto time = verdict_time(*candidate.verdict);
    return time ? time->us : 0;
  };
  std::set<const Candidate*> chosen;
  std::map<std::string, const Candidate*> newcomers;  // the fastest of strategies that are not known
  double reach_us = best_us;
  for (const Candidate* candidate : fresh)
    if (const double us = modelled(*candidate); best_us <= 0 && us > 0) {
      const double expected = expected_us(candidate->strategies, us);
      reach_us = reach_us <= 0 ? expected : std::min(reach_us, expected);
    }
  for (const Candidate* candidate : fresh) {
    const double us = modelled(*candidate);
    if (us <= 0 || expected_us(candidate->strategies, us) <= reach_us * factor) chosen.insert(candidate);
    if (us <= 0 || knows(candidate->strategies)) continue;
    const Candidate*& newcomer = newcomers[to_string(candidate->strategies)];
    if (newcomer == nullptr || us < modelled(*newcomer)) newcomer = candidate;
  }
  for (const auto& [name, newcomer] : newcomers) chosen.insert(newcomer);
  std::vector<const Candidate*> in_order;
  for (const Candidate* candidate : fresh)
    if (chosen.contains(candidate)) in_order.push_back(candidate);
  return in_order;
}

}  // namespace kw
