#pragma once
// How long a block takes when nothing is scarce and only dependencies make its warps wait: each warp issues in order
// from basic block to basic block, but within one as ptxas would arrange it (loads early, uses late).

#include "kernel/performance/block_trace.h"

namespace kw {

struct ChainLatencies {
  double missed_cycles = 0;  // of a global load that misses the first-level cache
};

// Cycles from the block's start to its end, weights included. Sets TraceAccess::issued_at (without weights).
double block_chain(const StaticCode& code, const DeviceProfile& profile, BlockTrace& trace,
                   const ChainLatencies& latencies);

}  // namespace kw
