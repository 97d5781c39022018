#include "agents/search/prospect.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace kw {
namespace {

// How many kernels the odds of a group weigh against those of one of its kinds.
constexpr double weight_of_group = 2;
// The model errs: what is expected to take so much longer than the best kernel may still be faster.
constexpr double hoped_for = 1.1;
// Of kernels that are expected to gain nothing the faster ones still come first.
constexpr double worth_of_nothing = 0.02;
constexpr double kernels_of_a_kind_to_halve = 2;

// By which factor it may be faster, as a logarithm; never 0.
double gain(double expected_us, double reference_us) {
  if (!(expected_us > 0)) return worth_of_nothing;
  const double hope = std::log(hoped_for * reference_us / expected_us);
  return std::max(hope, 0.0) + worth_of_nothing * std::min(1.0, reference_us / expected_us);
}

}  // namespace

void RightOdds::learn(const std::string& group, const std::string& kind, bool right) {
  for (Count* count : {&groups_[group], &kinds_[group + "/" + kind]}) {
    count->tried += 1;
    if (right) count->right += 1;
  }
}

double RightOdds::right(const std::string& group, const std::string& kind) const {
  const auto of = [](const std::map<std::string, Count>& counts, const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? Count{} : found->second;
  };
  const Count all = of(groups_, group), own = of(kinds_, group + "/" + kind);
  const double prior = (all.right + 1) / (all.tried + 2);
  return (own.right + weight_of_group * prior) / (own.tried + weight_of_group);
}

std::vector<std::size_t> most_promising(const std::vector<Prospect>& prospects, double best_us, const RightOdds& odds,
                                        std::int64_t most) {
  std::vector<double> known;
  for (const Prospect& prospect : prospects)
    if (prospect.expected_us > 0) known.push_back(prospect.expected_us);
  const double reference_us = best_us > 0 ? best_us : known.empty() ? 1 : median(std::move(known));
  std::vector<double> worth;
  for (const Prospect& prospect : prospects)
    worth.push_back(
        prospect.built ? odds.right(prospect.group, prospect.kind) * gain(prospect.expected_us, reference_us) : 0);
  std::vector<std::size_t> chosen;
  std::vector<bool> taken(prospects.size(), false);
  std::map<std::string, int> of_kind;
  const auto standing = [&](std::size_t i) {
    const auto found = of_kind.find(prospects[i].group + "/" + prospects[i].kind);
    return worth[i] / (1 + (found == of_kind.end() ? 0 : found->second) / kernels_of_a_kind_to_halve);
  };
  while (static_cast<std::int64_t>(chosen.size()) < most && chosen.size() < prospects.size()) {
    std::size_t best = prospects.size();
    for (std::size_t i = 0; i < prospects.size(); ++i)
      if (!taken[i] && (best == prospects.size() || standing(i) > standing(best))) best = i;
    taken[best] = true;
    ++of_kind[prospects[best].group + "/" + prospects[best].kind];
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace kw
