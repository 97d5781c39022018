#pragma once
// Which kernels are worth a measurement, by their modelled times. The model is off by a factor that kernels of the same
// strategies share: it is learned from those that were measured.

#include <map>
#include <string>
#include <vector>

#include "agents/search/candidate.h"

namespace kw {

class MeasuringFilter {
 public:
  // Of a kernel with both times.
  void learn(const Candidate& candidate, double modelled_us, double measured_us);
  // The measured time that is to be expected.
  double expected_us(const std::vector<Strategy>& strategies, double modelled_us) const;
  bool knows(const std::vector<Strategy>& strategies) const { return factors_.contains(to_string(strategies)); }

  // Of new right candidates, those that should be measured, in their order: whose expected time is within `factor` of
  // the best measured one, those that nothing can be expected of (no modelled time), and the fastest of strategies that
  // were never measured. `best_us` 0: nothing was measured. `factor` 0: all of them.
  std::vector<const Candidate*> promising(const std::vector<const Candidate*>& fresh, double best_us,
                                          double factor) const;

 private:
  std::map<std::string, std::vector<double>> factors_;  // measured / modelled, by strategies
};

}  // namespace kw
