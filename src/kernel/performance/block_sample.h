#pragma once
// One block of a launch: run in the emulator, counted, its accesses replayed through the caches.

#include <optional>

#include "kernel/performance/block_trace.h"
#include "kernel/performance/cache_replay.h"
#include "kernel/performance/kernel_profile.h"

namespace kw {

struct SampledBlock {
  std::uint64_t number = 0;
  BlockCounts counts;
  std::vector<InstructionProfile> instructions;
  CacheReplay replay;
  bool cut = false;                                               // a loop was
  std::vector<std::pair<std::uint64_t, float>> atomic_addresses;  // global, with updates
  std::vector<std::pair<std::uint64_t, float>> atomic_lines;      // with sectors
};

class BlockSampler {
 public:
  // Sets what it notices in the profile: incomplete, waited, stopped, extrapolated, emulated instructions.
  BlockSampler(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
               const EstimateOptions& options, bool real_contents, KernelProfile& profile)
      : device_(device),
        memory_(memory),
        launch_(launch),
        options_(options),
        real_contents_(real_contents),
        profile_(profile),
        recorder_(*profile.code, memory) {}

  // `whole`: no loop is cut short.
  Result<SampledBlock> sample(std::uint64_t number, bool whole = false);
  // Only what it touches.
  Result<SampledBlock> touch(std::uint64_t number);

  bool uneven_loops() const { return integrate_; }
  CacheShare share() const;

 private:
  Result<void> emulate(std::uint64_t block, bool whole);
  Result<void> run(std::uint64_t block, const LoopBudget& loops, std::int64_t most_instructions);
  Result<void> charge() const;
  void add_chain(double DeviceProfile::*missed, ChainProfile& sum);
  void count_entries(SampledBlock& block);
  void count_access(const TraceAccess& access, SampledBlock& block) const;
  void note_atomics(SampledBlock& block) const;
  void add_spills(BlockCounts& counts) const;

  const DeviceProfile& device_;
  DeviceMemory& memory_;
  const ProfiledLaunch& launch_;
  const EstimateOptions& options_;
  bool real_contents_;
  KernelProfile& profile_;
  BlockRecorder recorder_;
  bool integrate_ = false;  // late iterations were seen to differ from early ones
};

double l1_cycles_of(const DeviceProfile& device, const RequestShape& shape);

}  // namespace kw
