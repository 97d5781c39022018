#pragma once
// Counts of one launch: an average block, and how much neighbouring blocks share. Nothing here but counts, so that a
// fit can try other constants on them. (Chains, and which accesses miss, are those of the device that was profiled
// for.)

#include <array>
#include <cstdint>
#include <map>

#include "compile/occupancy.h"
#include "performance/device_profile.h"

namespace kw {

// Of one allocation; numbers of 32-byte sectors, extrapolated loops included.
struct AllocationUse {
  double read = 0;     // different ones that are read before the block writes them
  double written = 0;  // different ones
};

struct AllocationProfile {
  std::uint64_t bytes = 0;
  AllocationUse use;                                     // of an average block
  std::array<double, 3> shared_with_neighbour{0, 0, 0};  // in x, y, z: part of what the block touches
};

// The constants that a block's chain of dependencies is made of.
inline constexpr std::array chain_constants = {
    &DeviceProfile::l1_latency_cycles,    &DeviceProfile::shared_latency_cycles,      &DeviceProfile::l2_latency_cycles,
    &DeviceProfile::dram_latency_cycles,  &DeviceProfile::instruction_latency_factor, &DeviceProfile::barrier_cycles,
    &DeviceProfile::branch_cycles,        &DeviceProfile::block_start_cycles,         &DeviceProfile::warp_start_cycles,
    &DeviceProfile::shared_atomic_cycles, &DeviceProfile::shared_atomic_loop_cycles};

// A block's chain on the device that it was profiled for, and how it grows with each constant. A longest path is a
// maximum of sums, so this is exact until another path becomes the longest.
struct ChainProfile {
  double cycles = 0;
  std::array<double, chain_constants.size()> slopes{};  // zero unless EstimateOptions::chain_slopes
};

// Accesses of a warp that cost the L1 the same.
struct RequestShape {
  bool store = false;
  std::uint16_t sectors = 0;
  std::uint16_t lines = 0;
  std::uint16_t bank_passes = 0;
  auto operator<=>(const RequestShape&) const = default;
};

struct KernelCounts {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  double blocks = 1;
  std::uint32_t warps = 1;  // of a block
  Occupancy occupancy;
  double resident_blocks = 1;  // on a multiprocessor that has work

  // Of an average block.
  double warp_instructions = 0;
  double issue_slots = 0;
  std::array<double, pipe_count> pipe_lanes{};
  double shared_wavefronts = 0;
  double shared_atomic_turns = 0;  // lanes that wait for others at their address
  double fewest_wavefronts = 0;
  std::map<RequestShape, double> accesses;  // global and local
  double requests = 0, sectors = 0;         // global
  double l2_load_sectors = 0;
  double l2_store_sectors = 0;
  double far_sectors = 0;
  double atomic_sectors = 0;
  ChainProfile chain_l2;                                    // with every miss served by the L2,
  ChainProfile chain_dram;                                  // by DRAM
  std::array<double, chain_constants.size()> chain_base{};  // the constants that these chains were made with
  double longest_chain_ratio = 1;                           // of the sampled blocks: longest / average
  std::map<std::int32_t, AllocationProfile> allocations;
  double hottest_updates = 0;       // atomic updates of one address, by the whole grid
  double hottest_line_sectors = 0;  // sectors of one line that atomics ask for, by the whole grid

  std::int64_t emulated_warp_instructions = 0;
  int sampled_blocks = 0;
  double spread = 0;  // relative difference between the sampled blocks' work
  bool extrapolated = false;
  bool complete = true;  // false: a block did not end within the budget
  bool waited = false;   // a loop without a known end was left
  bool stopped = false;  // a block trapped or deadlocked
};

// Of an average block.
double l1_cycles(const DeviceProfile& device, const KernelCounts& counts);
double chain_cycles(const DeviceProfile& device, const KernelCounts& counts, const ChainProfile& chain);

}  // namespace kw
