#pragma once
// Which kernels are worth a measurement, by their modelled times. The model is off by a factor that kernels of the same
// strategies share, and even more those that differ by constants alone: it is learned from those that were measured.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agents/search/candidate.h"

namespace kw {

struct FilteredKernel {
  const Candidate* candidate = nullptr;
  int family = -1;  // kernels that differ by constants alone have one
};

class MeasuringFilter {
 public:
  // Of a kernel with both times.
  void learn(const Candidate& candidate, int family, double modelled_us, double measured_us);
  // The measured time that is to be expected: by its family, if one of it was measured, else by its strategies, else by
  // all. `family` -1: none.
  double expected_us(const std::vector<Strategy>& strategies, int family, double modelled_us) const;
  bool knows(const std::vector<Strategy>& strategies) const { return factors_.contains(to_string(strategies)); }

  // Of right candidates that were not measured, at most `most` that should be, the most promising first: whose expected
  // time is within `factor` of the best measured one, those that nothing can be expected of (no modelled time), and the
  // fastest of strategies that were never measured. `best_us` 0: nothing was measured. `factor` 0: all of them.
  std::vector<const Candidate*> promising(const std::vector<FilteredKernel>& right, double best_us, double factor,
                                          std::int64_t most) const;

 private:
  std::map<std::string, std::vector<double>> factors_;  // measured / modelled, by strategies
  std::map<int, std::vector<double>> family_factors_;
};

}  // namespace kw
