#pragma once
// How far a policy is from its reference, by sampled tokens (http://joschu.net/blog/kl-approx.html), and a coefficient
// that keeps it near a target. Definitions are VERL's (verl/trainer/ppo/core_algos.py).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

enum class KlEstimator { k1, k2, k3 };
std::string_view to_string(KlEstimator estimator);
Result<KlEstimator> kl_estimator_from(std::string_view name);

struct KlTerm {
  double value = 0;
  double d_log_prob = 0;
};
// Of one token. k3 is held within +-10, and does not change there.
KlTerm kl_term(KlEstimator estimator, double log_prob, double reference_log_prob);

// Mean over the tokens that count.
double mean_kl(KlEstimator estimator, std::span<const float> log_prob, std::span<const float> reference_log_prob,
               std::span<const std::uint8_t> mask);

// arXiv 1909.08593, section 2.2. State is one number, kept in checkpoints.
struct AdaptiveKl {
  double coefficient = 0.02;
  double target = 0.05;
  double horizon = 10'000;  // answers

  void update(double measured_kl, double answers);
};

}  // namespace kw
