#pragma once
// How far modelled times are from measured ones, in the figures that this project reports.

#include "kernel/performance/fit.h"

namespace kw {

inline constexpr double clear_difference = 1.3;  // pairs of kernels that differ by less are not counted as ranked

struct ModelErrors {
  std::size_t times = 0;
  std::size_t pairs = 0;  // of kernels of one task at one size whose measured times differ clearly
  std::size_t pairs_right = 0;
  double mean_percent = 0;  // of |modelled / measured - 1|
  double spearman = 0;
  double kendall = 0;        // tau-a
  double median_factor = 1;  // factor: max(modelled / measured, measured / modelled)
  double factor_90 = 1;      // that 90 % are within

  double ranking() const { return pairs > 0 ? static_cast<double>(pairs_right) / static_cast<double>(pairs) : 1; }
};

// `full_size_only`: without sizes of the kind "small", whose time is nearly all launch overhead.
ModelErrors model_errors(const std::vector<MeasuredPlan>& plans, const std::vector<double>& modelled_us,
                         bool full_size_only = false);

// Indices of the plans with the largest factors, the worst first.
std::vector<std::size_t> farthest_off(const std::vector<MeasuredPlan>& plans, const std::vector<double>& modelled_us,
                                      std::size_t most);

}  // namespace kw
