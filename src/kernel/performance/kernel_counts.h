#pragma once
// Counts of one launch: an average block, and how much neighbouring blocks share. Nothing here but counts, so that a
// fit can try other constants on them. (Chains, and which accesses miss, are those of the device that was profiled
// for.)

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include "kernel/compile/occupancy.h"
#include "kernel/performance/device_profile.h"

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
  // How many neighbours share it: those beyond have data of their own, which they share among themselves.
  std::array<double, 3> group{everyone, everyone, everyone};
  static constexpr double everyone = std::numeric_limits<double>::infinity();

  // Different sectors of `blocks` neighbours, relative to those of one. `kept`: the part of what is shared that is
  // still in the cache when the neighbour wants it.
  double along(std::size_t dimension, double blocks, double kept = 1) const {
    const double together = std::min(blocks, group[dimension]);
    return blocks / together * (1 + (together - 1) * (1 - shared_with_neighbour[dimension] * kept));
  }
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

// Of one block, or of an average one.
struct BlockCounts {
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
  ChainProfile chain_l2;    // with every miss served by the L2,
  ChainProfile chain_dram;  // by DRAM
  std::map<std::int32_t, AllocationProfile> allocations;

  void add(const BlockCounts& other, double weight);
  void scale(double factor);
};

struct KernelCounts : BlockCounts {  // of an average block
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  double blocks = 1;
  std::uint32_t warps = 1;  // of a block
  Occupancy occupancy;
  double resident_blocks = 1;  // on a multiprocessor that has work

  std::array<double, chain_constants.size()> chain_base{};  // the constants that these chains were made with
  double longest_chain_ratio = 1;                           // of the sampled blocks: longest / average
  double hottest_updates = 0;                               // atomic updates of one address, by the whole grid
  double hottest_line_sectors = 0;  // sectors of one line that atomics ask for, by the whole grid
  // The block that takes longest of those that are known, as a launch of its own: the launch cannot be over sooner.
  // Null: it takes about as long as the others.
  std::shared_ptr<const KernelCounts> longest_block;

  std::int64_t emulated_warp_instructions = 0;
  int sampled_blocks = 0;
  double doubt = 0;  // relative: how far off the counts may be, because sampled blocks or iterations differ
  bool extrapolated = false;
  bool uneven = false;   // blocks were heavier than the sample said, or late iterations than early ones
  bool complete = true;  // false: a block did not end within the budget
  bool waited = false;   // a loop without a known end was left
  bool stopped = false;  // a block deadlocked
  bool trapped = false;  // a block trapped, or an assertion of its failed
};

// Of an average block.
double l1_cycles(const DeviceProfile& device, const KernelCounts& counts);
double chain_cycles(const DeviceProfile& device, const KernelCounts& counts, const ChainProfile& chain);

}  // namespace kw
