#include "agents/search/round_plan.h"

#include <algorithm>

namespace kw {
namespace {

constexpr double worth_of_lead = 0.3;  // of a new best
constexpr double prior_worth = 1;
constexpr double prior_verdicts = 6;
constexpr double least_share = 0.125;
constexpr double most_answers_a_kernel = 4;

}  // namespace

std::string_view to_string(SearchOperator from) {
  constexpr std::array<std::string_view, search_operators> names{"given", "generator", "optimizer", "constants",
                                                                 "edits"};
  return names.at(index_of(from));
}

std::optional<SearchOperator> search_operator_from_name(std::string_view name) {
  for (std::size_t i = 0; i < search_operators; ++i)
    if (to_string(static_cast<SearchOperator>(i)) == name) return static_cast<SearchOperator>(i);
  return std::nullopt;
}

double OperatorStanding::credit() const {
  const double worth = static_cast<double>(bests) + worth_of_lead * static_cast<double>(leads - bests);
  return (worth + prior_worth) / (static_cast<double>(verdicts) + prior_verdicts);
}

double OperatorStanding::answers_a_kernel() const {
  if (answers == 0) return 1;
  const double needed = static_cast<double>(answers) / static_cast<double>(std::max<std::int64_t>(fresh, 1));
  return std::clamp(needed, 1.0, most_answers_a_kernel);
}

RoundShares round_shares(const OperatorStandings& standings, std::int64_t count, bool any_right, bool any) {
  std::array<double, search_operators> wanted{};
  double sum = 0;
  for (const SearchOperator from :
       {SearchOperator::generator, SearchOperator::optimizer, SearchOperator::constants, SearchOperator::edits}) {
    const OperatorStanding& standing = standings[index_of(from)];
    const bool able = standing.enabled &&
                      (from == SearchOperator::generator || (from == SearchOperator::optimizer ? any : any_right));
    if (able) sum += wanted[index_of(from)] = standing.credit();
  }
  RoundShares shares{};
  if (sum <= 0 || count <= 0) return shares;
  double floors = 0;
  for (double& each : wanted) {
    each /= sum;
    if (each > 0) floors += least_share;
  }
  std::int64_t left = count;
  for (std::size_t i = 0; i < search_operators; ++i) {
    if (wanted[i] <= 0) continue;
    wanted[i] = (least_share + (1 - floors) * wanted[i]) * static_cast<double>(count);
    shares[i] = static_cast<std::int64_t>(wanted[i]);
    left -= shares[i];
  }
  for (; left > 0; --left) {  // what rounding has left, to whom it took most
    std::size_t most = search_operators;
    for (std::size_t i = 0; i < search_operators; ++i)
      if (wanted[i] > 0 && (most == search_operators || wanted[i] - static_cast<double>(shares[i]) >
                                                            wanted[most] - static_cast<double>(shares[most])))
        most = i;
    ++shares[most];
  }
  return shares;
}

}  // namespace kw
