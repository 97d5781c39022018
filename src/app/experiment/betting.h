#pragma once
// Always-valid evidence about a mean: it may be looked at after every observation, by anybody, and acted upon at once.
//
// Observations d_1, d_2, ... lie in [-1, 1]. Somebody who believes that their mean is below m bets against "the mean is
// m or more": the stake grows by 1 + b (m - d_i) for a fixed b. Under that hypothesis the capital is a supermartingale,
// so by Ville's inequality it ever reaches 1 / alpha with probability alpha at most. The capital here is the average
// over a fixed grid of b. Sources: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
// JRSS B 2024 (section 4); Ville 1939. Only E[d_i | the past] is assumed about, nothing about a distribution.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/statistics.h"

namespace kw {

// How often each observation was seen, on a grid of 1/128. -1, 0 and 1, all that a rate has, are on the grid; anything
// else is kept rounded down and rounded up, so that a test can take the side on which rounding is no evidence.
class GainCounts {
 public:
  static constexpr int steps = 128;
  static constexpr std::size_t bins = 2 * steps + 1;
  using Histogram = std::array<std::int64_t, bins>;

  void add(double gain);  // in [-1, 1]
  std::int64_t count() const { return count_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  const Histogram& rounded_down() const { return down_; }
  const Histogram& rounded_up() const { return up_; }

  friend bool operator==(const GainCounts&, const GainCounts&) = default;

 private:
  Histogram down_{}, up_{};
  std::int64_t count_ = 0;
  double sum_ = 0;
};

enum class Claim { below, above };

// One claim, "the mean is below (above) `bound`", with the logarithms of its bets worked out once.
class MeanBet {
 public:
  MeanBet(Claim claim, double bound);  // bound in (-1, 1)

  // Logarithm of the capital; the claim is shown at level alpha when it reaches log(1 / alpha).
  double log_evidence(const GainCounts& counts) const;

 private:
  // Fractions of the largest bet that cannot lose everything, and how much of the stake each gets. Most is placed where
  // a rate that falls by a fifth is found soonest; the small ones find small differences with much data.
  static constexpr std::array<double, 8> fractions = {0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.85};
  static constexpr std::array<double, 8> shares = {1, 1, 2, 2, 4, 6, 6, 2};

  Claim claim_;
  std::array<std::array<double, fractions.size()>, GainCounts::bins> log_growth_;
};

// Means that are not refuted: holds the true mean at all times together with probability 1 - alpha.
Interval confidence_sequence(const GainCounts& counts, double alpha);

}  // namespace kw
