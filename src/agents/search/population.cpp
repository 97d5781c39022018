#include "agents/search/population.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kw {
namespace {

constexpr double explore = 0.15;  // of the choices are of any niche
// A niche's standing falls to a half with this many tries, relative to one that was never tried.
constexpr double tries_to_halve = 8;
// And to 1 / e with a time that is this factor above the fastest one.
constexpr double factor_to_fall = 1.5;
// The fastest of a niche is taken this often; else one of the others.
constexpr double leader = 0.7;

}  // namespace

Population::Place Population::add(const Candidate& candidate) {
  KW_CHECK(candidate.time.has_value());
  const std::string& limiter = candidate.verdict->limiter;
  const Key key{to_string(candidate.strategies), limiter.empty() ? "unknown" : limiter};
  if (!niches_.contains(key) && niches_.size() >= most_niches) drop_slowest_niche();
  Niche& niche = niches_[key];
  niche.strategies = key.first;
  niche.limiter = key.second;
  members_[candidate.number] = {key, candidate.time->us};
  niche.members.push_back(candidate.number);
  sort(niche);
  if (niche.members.size() > most_of_a_niche) {
    members_.erase(niche.members.back());
    niche.members.pop_back();
  }
  if (niche.members.front() == candidate.number) return Place::leads;
  return members_.contains(candidate.number) ? Place::joined : Place::left_out;
}

void Population::update(const Candidate& candidate) {
  const auto member = members_.find(candidate.number);
  if (member == members_.end()) return;
  if (!candidate.time) return remove(candidate.number);
  member->second.us = candidate.time->us;
  sort(niches_.at(member->second.key));
}

void Population::remove(int candidate) {
  const auto member = members_.find(candidate);
  if (member == members_.end()) return;
  Niche& niche = niches_.at(member->second.key);
  std::erase(niche.members, candidate);
  if (niche.members.empty()) niches_.erase(member->second.key);
  members_.erase(candidate);
}

// By time, of equals the earlier one: the order never depends on that of the calls.
void Population::sort(Niche& niche) {
  std::ranges::sort(niche.members, {}, [&](int number) { return std::pair(members_.at(number).us, number); });
}

void Population::drop_slowest_niche() {
  const auto slowest = std::ranges::max_element(
      niches_, {}, [&](const auto& each) { return members_.at(each.second.members.front()).us; });
  for (const int number : slowest->second.members) members_.erase(number);
  niches_.erase(slowest);
}

std::vector<Niche> Population::niches() const {
  std::vector<Niche> all;
  for (const auto& [key, niche] : niches_) all.push_back(niche);
  std::ranges::stable_sort(all, {}, [&](const Niche& niche) { return members_.at(niche.members.front()).us; });
  return all;
}

int Population::fastest() const {
  const auto found =
      std::ranges::min_element(members_, {}, [](const auto& each) { return std::pair(each.second.us, each.first); });
  return found == members_.end() ? -1 : found->first;
}

int Population::choose(Random& random) {
  KW_CHECK(!members_.empty());
  const double best_us = members_.at(fastest()).us;
  std::vector<std::pair<double, Niche*>> standings;
  double sum = 0;
  const bool any = random.uniform() < explore;
  for (auto& [key, niche] : niches_) {
    const double slower = std::log(members_.at(niche.members.front()).us / best_us) / std::log(factor_to_fall);
    const double standing = any ? 1 : std::exp(-slower) / (1 + niche.tried / tries_to_halve);
    standings.emplace_back(standing, &niche);
    sum += standing;
  }
  double left = random.uniform() * sum;
  Niche* chosen = standings.back().second;
  for (const auto& [standing, niche] : standings) {
    left -= standing;
    if (left >= 0) continue;
    chosen = niche;
    break;
  }
  ++chosen->tried;
  const auto last = static_cast<std::int64_t>(chosen->members.size()) - 1;
  if (last == 0 || random.uniform() < leader) return chosen->members.front();
  return chosen->members[static_cast<std::size_t>(random.integer(1, last))];
}

}  // namespace kw
