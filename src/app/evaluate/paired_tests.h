#pragma once
// Is B better than A, when both did the same tasks? All p-values are two-sided: the chance of a difference at least as
// large, in either direction, if there were none.

#include <cstdint>
#include <vector>

namespace kw {

// Two yes-or-no results for each task: exact, from those that differ (McNemar, 1947).
double mcnemar_exact(std::int64_t only_a, std::int64_t only_b);

// The others are about differences B - A, one for each task.

// Zeros are left out.
double sign_test(const std::vector<double>& differences);

// Wilcoxon's signed ranks: zeros left out, equal sizes share their ranks. Exact up to 200 differences, the normal
// approximation with the correction for ties beyond.
double wilcoxon_signed_rank(const std::vector<double>& differences);

// The mean, under all ways to turn the signs; exact up to 16 differences, beyond by `resamples` random ways, and never
// below 1 / (resamples + 1). Reproducible from the seed.
double paired_permutation(const std::vector<double>& differences, int resamples = 100'000, std::uint64_t seed = 1);

}  // namespace kw
