#include "app/evaluate/paired_tests.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace kw {
namespace {

constexpr std::size_t most_exact_ranks = 200;
constexpr std::size_t most_exact_signs = 16;

std::vector<double> without_zeros(const std::vector<double>& differences) {
  std::vector<double> rest;
  for (const double difference : differences) {
    KW_CHECK(std::isfinite(difference));
    if (difference != 0) rest.push_back(difference);
  }
  return rest;
}

struct Ranks {
  std::vector<std::int64_t> doubled;  // of each difference, by size, twice: shared ranks are halves
  double ties = 0;                    // sum of t^3 - t over groups of equal size
};

Ranks ranks_of(const std::vector<double>& differences) {
  std::vector<std::size_t> order(differences.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](std::size_t i) { return std::abs(differences[i]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) < size(b); });
  Ranks ranks;
  ranks.doubled.resize(differences.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && size(order[end]) == size(order[first])) ++end;
    for (std::size_t i = first; i < end; ++i)
      ranks.doubled[order[i]] = static_cast<std::int64_t>(first + 1 + end);  // twice the mean of first+1 ... end
    const auto count = static_cast<double>(end - first);
    ranks.ties += count * count * count - count;
    first = end;
  }
  return ranks;
}

// The chance that a random half of the signs gives a sum of at most `smaller`, by counting all ways.
double exact_tail(const std::vector<std::int64_t>& ranks, std::int64_t smaller) {
  std::vector<double> chance(static_cast<std::size_t>(smaller) + 1, 0);
  chance[0] = 1;
  for (const std::int64_t rank : ranks)
    for (std::int64_t sum = smaller; sum >= 0; --sum) {
      double& here = chance[static_cast<std::size_t>(sum)];
      here = 0.5 * (here + (sum >= rank ? chance[static_cast<std::size_t>(sum - rank)] : 0));
    }
  return std::accumulate(chance.begin(), chance.end(), 0.0);
}

}  // namespace

double mcnemar_exact(std::int64_t only_a, std::int64_t only_b) {
  KW_CHECK(only_a >= 0 && only_b >= 0);
  const std::int64_t differing = only_a + only_b;
  if (differing == 0) return 1;
  const boost::math::binomial coin(static_cast<double>(differing), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(coin, static_cast<double>(std::min(only_a, only_b))));
}

double sign_test(const std::vector<double>& differences) {
  const auto rest = without_zeros(differences);
  const auto above = std::count_if(rest.begin(), rest.end(), [](double difference) { return difference > 0; });
  return mcnemar_exact(above, static_cast<std::int64_t>(rest.size()) - above);
}

double wilcoxon_signed_rank(const std::vector<double>& differences) {
  const auto rest = without_zeros(differences);
  if (rest.empty()) return 1;
  const Ranks ranks = ranks_of(rest);
  std::int64_t above = 0, all = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    all += ranks.doubled[i];
    if (rest[i] > 0) above += ranks.doubled[i];
  }
  const std::int64_t smaller = std::min(above, all - above);
  if (rest.size() <= most_exact_ranks) return std::min(1.0, 2 * exact_tail(ranks.doubled, smaller));
  const auto n = static_cast<double>(rest.size());
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48;
  const double z = (static_cast<double>(smaller) / 2 - n * (n + 1) / 4) / std::sqrt(variance);
  return std::min(1.0, 2 * boost::math::cdf(boost::math::normal(), z));
}

double paired_permutation(const std::vector<double>& differences, int resamples, std::uint64_t seed) {
  const auto rest = without_zeros(differences);
  if (rest.empty()) return 1;
  const double seen = std::abs(std::accumulate(rest.begin(), rest.end(), 0.0));
  // Sums in another order differ in their last bits.
  const double bound = seen * (1 - 1e-9);
  if (rest.size() <= most_exact_signs) {
    std::int64_t extreme = 0;
    const std::uint64_t ways = std::uint64_t{1} << rest.size();
    for (std::uint64_t signs = 0; signs < ways; ++signs) {
      double sum = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) sum += (signs >> i & 1) != 0 ? rest[i] : -rest[i];
      extreme += std::abs(sum) >= bound;
    }
    return static_cast<double>(extreme) / static_cast<double>(ways);
  }
  Random random(seed);
  std::int64_t extreme = 0;
  for (int way = 0; way < resamples; ++way) {
    double sum = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (i % 64 == 0) bits = random.next();
      sum += (bits >> (i % 64) & 1) != 0 ? rest[i] : -rest[i];
    }
    extreme += std::abs(sum) >= bound;
  }
  return static_cast<double>(extreme + 1) / static_cast<double>(resamples + 1);
}

}  // namespace kw
