#pragma once
// Sample-ratio mismatch: do the arms get the users that their weights say? Where not, assignment or logging is broken
// and no comparison can be trusted.
//
// The test may be looked at after every exposure: the likelihood of the counts under a Dirichlet prior around the
// weights, over their likelihood under the weights, is a martingale when the weights are right (Lindon and Malek,
// "Anytime-valid inference for multinomial count data", NeurIPS 2022, equation 7), so Ville's inequality bounds it.

#include <cstdint>
#include <vector>

namespace kw {

// How concentrated the prior is: a share of one half is expected to be off by 0.02, which is the mismatch to be found
// within 20,000 users. Larger ones are found anyway.
inline constexpr double sample_ratio_concentration = 500;

// An alarm is wrong in one of a hundred experiments at most. It only makes the experiment wait for a person.
inline constexpr double sample_ratio_alpha = 0.01;

// Logarithm of the evidence against `weights` (any scale); counts are of users, each once. 0 for fewer than two arms.
double sample_ratio_log_evidence(const std::vector<std::int64_t>& counts, const std::vector<double>& weights);

bool sample_ratio_is_off(const std::vector<std::int64_t>& counts, const std::vector<double>& weights);

}  // namespace kw
