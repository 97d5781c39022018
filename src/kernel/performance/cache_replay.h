#pragma once
// Replays a block's global and local accesses, in the order in which its warps would make them, through the part of a
// first-level cache that is the block's own; and counts the sectors that it touches at all.

#include <map>
#include <unordered_map>

#include "kernel/performance/block_trace.h"
#include "kernel/performance/kernel_counts.h"

namespace kw {

struct CacheReplay {
  double l2_load_sectors = 0;  // asked of the second-level cache
  double l2_store_sectors = 0;
  double far_sectors = 0;  // of the loads: touched before by this block, but so long ago that the L2 may have lost them
  std::map<std::int32_t, AllocationUse> uses;
  // Sectors that were touched, for the comparison with a neighbour: bit 0 read, bit 1 written.
  std::unordered_map<std::uint64_t, std::uint8_t> touched;
};

struct CacheShare {
  double l1_bytes = 0;  // of one block
  double l2_bytes = 0;
};

// Sets TraceAccess::missed_sectors.
CacheReplay replay_caches(BlockTrace& trace, const CacheShare& share);

}  // namespace kw
