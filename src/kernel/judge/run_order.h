#pragma once
// In which order a case is run. CUDA promises none, so every case gets one of its own, drawn in secret; some are run as
// a kernel's author imagines it.

#include <cstdint>

#include "kernel/emulate/emulator.h"

namespace kw {

struct RunOrder {
  std::uint64_t warps = 0;  // seeds of permutations; 0: in order
  std::uint64_t blocks = 0;
  bool copies_land_early = false;  // asynchronous copies: at once, instead of at the wait

  bool overlap = false;  // blocks and warps that talk to each other are interrupted all the time

  bool natural() const { return warps == 0 && blocks == 0 && !copies_land_early && !overlap; }
  RunOptions apply(RunOptions options) const;
};

// From the case's secret seed.
RunOrder order_for(std::uint64_t case_seed);
// What other arrays of the process may take before the kernel's own: they begin somewhere else then.
std::uint64_t bytes_before_arrays(std::uint64_t case_seed);

// As different from the natural order as can be.
RunOrder opposite_order();

}  // namespace kw
