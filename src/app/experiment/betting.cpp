#include "app/experiment/betting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace kw {
namespace {

constexpr int bisections = 16;  // to 3e-5, far below what a grid of 1/128 resolves

}  // namespace

void GainCounts::add(double gain) {
  KW_CHECK(gain >= -1 && gain <= 1);
  const double place = gain * steps;
  ++down_[static_cast<std::size_t>(static_cast<int>(std::floor(place)) + steps)];
  ++up_[static_cast<std::size_t>(static_cast<int>(std::ceil(place)) + steps)];
  ++count_;
  sum_ += gain;
}

MeanBet::MeanBet(Claim claim, double bound) : claim_(claim) {
  KW_CHECK(bound > -1 && bound < 1);
  // "above m" of d is "below -m" of -d.
  const double m = claim == Claim::below ? bound : -bound;
  for (std::size_t bin = 0; bin < GainCounts::bins; ++bin) {
    const double place = (static_cast<double>(bin) - GainCounts::steps) / GainCounts::steps;
    const double d = claim == Claim::below ? place : -place;
    // The worst that may come is d = 1: the stake stays positive for bets below 1 / (1 - m).
    for (std::size_t i = 0; i < fractions.size(); ++i)
      log_growth_[bin][i] = std::log1p(fractions[i] / (1 - m) * (m - d));
  }
}

double MeanBet::log_evidence(const GainCounts& counts) const {
  // Rounded against the claim.
  const auto& histogram = claim_ == Claim::below ? counts.rounded_up() : counts.rounded_down();
  std::array<double, fractions.size()> log_capital{};
  for (std::size_t bin = 0; bin < GainCounts::bins; ++bin) {
    if (histogram[bin] == 0) continue;
    const auto times = static_cast<double>(histogram[bin]);
    for (std::size_t i = 0; i < fractions.size(); ++i) log_capital[i] += times * log_growth_[bin][i];
  }
  const double most = *std::ranges::max_element(log_capital);
  double sum = 0;
  for (std::size_t i = 0; i < fractions.size(); ++i) sum += shares[i] * std::exp(log_capital[i] - most);
  return most + std::log(sum / std::accumulate(shares.begin(), shares.end(), 0.0));
}

// Evidence that the mean is above m falls as m rises, so the bound is where it passes the threshold.
Interval confidence_sequence(const GainCounts& counts, double alpha) {
  KW_CHECK(alpha > 0 && alpha < 1);
  if (counts.count() == 0) return {-1, 1};
  const double threshold = std::log(2 / alpha);  // half for each side
  const auto bound = [&](Claim claim) {
    double refuted = claim == Claim::above ? -1 : 1, possible = std::clamp(counts.mean(), -1.0, 1.0);
    for (int i = 0; i < bisections; ++i) {
      const double middle = (refuted + possible) / 2;
      if (middle <= -1 || middle >= 1) break;
      (MeanBet(claim, middle).log_evidence(counts) >= threshold ? refuted : possible) = middle;
    }
    return refuted;
  };
  return {bound(Claim::above), bound(Claim::below)};
}

}  // namespace kw
