#include "agents/search/measuring_filter.h"

#include <algorithm>
#include <set>

#include "base/statistics.h"

namespace kw {

namespace {

// Strategies that nobody has measured are taken to be so much faster than expected, when it comes to who is first.
constexpr double newcomers_hope = 1.5;
// And families: of kernels that the model cannot tell apart, those that differ by more than constants are measured.
constexpr double new_familys_hope = 1.05;

double modelled_us(const Candidate& candidate) {
  const auto time = verdict_time(*candidate.verdict);
  return time ? time->us : 0;
}

}  // namespace

void MeasuringFilter::learn(const Candidate& candidate, int family, double modelled_us, double measured_us) {
  if (!(modelled_us > 0) || !(measured_us > 0)) return;
  factors_[to_string(candidate.strategies)].push_back(measured_us / modelled_us);
  if (family >= 0) family_factors_[family].push_back(measured_us / modelled_us);
}

double MeasuringFilter::expected_us(const std::vector<Strategy>& strategies, int family, double modelled_us) const {
  if (const auto known = family_factors_.find(family); known != family_factors_.end())
    return modelled_us * median(known->second);
  if (const auto known = factors_.find(to_string(strategies)); known != factors_.end())
    return modelled_us * median(known->second);
  std::vector<double> all;
  for (const auto& [name, factors] : factors_) all.push_back(median(factors));
  return all.empty() ? modelled_us : modelled_us * median(std::move(all));
}

std::vector<const Candidate*> MeasuringFilter::promising(const std::vector<FilteredKernel>& right, double best_us,
                                                         double factor, std::int64_t most) const {
  struct Standing {
    const Candidate* candidate;
    double expected_us;  // 0: nothing can be expected
    double hoped_us;
  };
  std::vector<Standing> standings;
  std::map<std::string, std::size_t> newcomers;  // the fastest of strategies that are not known
  double reach_us = best_us;
  for (const auto& [candidate, family] : right) {
    const double us = modelled_us(*candidate);
    const double expected = us > 0 ? expected_us(candidate->strategies, family, us) : 0;
    if (best_us <= 0 && us > 0) reach_us = reach_us <= 0 ? expected : std::min(reach_us, expected);
    const bool new_family = family >= 0 && !family_factors_.contains(family);
    standings.push_back({candidate, expected, new_family ? expected / new_familys_hope : expected});
    if (us <= 0 || knows(candidate->strategies)) continue;
    const auto [newcomer, first] = newcomers.emplace(to_string(candidate->strategies), standings.size() - 1);
    if (!first && expected < standings[newcomer->second].expected_us) newcomer->second = standings.size() - 1;
  }
  std::vector<const Candidate*> chosen;
  if (factor <= 0) {
    for (const Standing& each : standings) chosen.push_back(each.candidate);
    return chosen;
  }
  std::set<const Candidate*> first_of_kind;
  for (const auto& [name, place] : newcomers) {
    standings[place].hoped_us /= newcomers_hope;
    first_of_kind.insert(standings[place].candidate);
  }
  std::erase_if(standings, [&](const Standing& each) {
    return each.expected_us > reach_us * factor && !first_of_kind.contains(each.candidate);
  });
  std::ranges::stable_sort(standings, {}, &Standing::hoped_us);
  for (const Standing& each : standings)
    if (static_cast<std::int64_t>(chosen.size()) < most) chosen.push_back(each.candidate);
  return chosen;
}

}  // namespace kw
