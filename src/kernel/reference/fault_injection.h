#pragma once
// Deaths of reference processes on purpose, to see that everything else goes on. KERNELWRIGHT_REFERENCE_FAULTS holds
// the probability of each for a request, "ill=0.01,segv=0.01,memory=0.01,stall=0.002", and up to which instruction set
// the CPU pretends to trap ("trap=1": SIGILL with set 0) or to refuse ("refuse=1").

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"

namespace kw {

inline constexpr const char* fault_variable = "KERNELWRIGHT_REFERENCE_FAULTS";

class FaultInjection {
 public:
  static Result<FaultInjection> parse(std::string_view text);

  // Before a request is served: may not return.
  void strike();
  // While the products are tried out with an instruction set: may not return, or says what libtorch would say.
  std::optional<Error> strike_probe(std::size_t instruction_set) const;
  // A fork would otherwise meet the same fate as its brothers.
  void reseed();

 private:
  double ill_ = 0, segv_ = 0, memory_ = 0, stall_ = 0;
  std::size_t trap_below_ = 0, refuse_below_ = 0;
  Random random_{0};
};

}  // namespace kw
