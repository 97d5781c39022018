#pragma once
// Counts of one launch, from some of its blocks: an average block, and how much neighbouring blocks share.

#include <array>
#include <map>
#include <memory>

#include "compile/occupancy.h"
#include "performance/cache_replay.h"
#include "performance/performance.h"

namespace kw {

// Of one static instruction, for an average block.
struct InstructionProfile {
  double executions = 0;  // of warps
  double lanes = 0;
  double requests = 0;  // accesses to memory, all spaces
  double sectors = 0;
  double fewest_sectors = 0;
  double missed_sectors = 0;
  double l1_cycles = 0;
  double wavefronts = 0;
  double fewest_wavefronts = 0;
  double same_address = 0;  // sum over the requests
};

struct AllocationProfile {
  std::uint64_t bytes = 0;
  AllocationUse use;                                     // of an average block
  std::array<double, 3> shared_with_neighbour{0, 0, 0};  // in x, y, z: part of what the block touches
};

struct KernelProfile {
  std::unique_ptr<StaticCode> code;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  double blocks = 1;
  std::uint32_t warps = 1;  // of a block
  Occupancy occupancy;
  double resident_blocks = 1;  // on a multiprocessor that has work

  // Of an average block.
  std::vector<InstructionProfile> instructions;  // as StaticCode has them
  double warp_instructions = 0;
  double issue_slots = 0;
  std::array<double, pipe_count> pipe_cycles{};
  double shared_wavefronts = 0;
  double fewest_wavefronts = 0;
  double l1_cycles = 0;
  double requests = 0, sectors = 0;  // global
  double l2_load_sectors = 0;
  double l2_store_sectors = 0;
  double far_sectors = 0;
  double atomic_sectors = 0;
  double chain_l2_cycles = 0;      // with every miss served by the L2,
  double chain_dram_cycles = 0;    // by DRAM
  double longest_chain_ratio = 1;  // of the sampled blocks: longest / average
  std::map<std::int32_t, AllocationProfile> allocations;
  double hottest_updates = 0;  // atomic updates of one address, by the whole grid

  std::int64_t emulated_warp_instructions = 0;
  int sampled_blocks = 0;
  double spread = 0;  // relative difference between the sampled blocks' work
  bool extrapolated = false;
  bool complete = true;  // false: a block did not end within the budget
  bool waited = false;   // a loop without a known end was left
};

// An error when the launch is impossible or cannot be emulated.
Result<KernelProfile> profile_kernel(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
                                     const EstimateOptions& options);

}  // namespace kw
