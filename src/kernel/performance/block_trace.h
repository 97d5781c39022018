#pragma once
// What one block executed: for each warp its instructions in order, and what they touched.

#include <cstdint>
#include <vector>

#include "kernel/emulate/access_observer.h"
#include "kernel/performance/loop_cutting.h"
#include "kernel/performance/static_code.h"

namespace kw {

inline constexpr std::uint32_t no_access = ~0u;

struct TraceEntry {
  std::uint32_t instruction = 0;     // number in StaticCode
  std::uint32_t access = no_access;  // first index into BlockTrace::accesses
  float weight = 1;                  // executions that it stands for
  std::uint8_t accesses = 0;
  std::uint8_t lanes = 0;
};

struct TraceAccess {
  std::uint32_t instruction = 0;
  std::uint32_t warp = 0;
  ObservedAccess::Kind kind = ObservedAccess::Kind::load;
  PtxSpace space = PtxSpace::global;
  std::uint8_t lanes = 0;
  bool past_l1 = false;
  std::int32_t allocation = -1;  // index in DeviceMemory; -1: none (local memory)
  float weight = 1;
  std::uint32_t first_sector = 0;  // into BlockTrace::sectors
  std::uint16_t sectors = 0;
  std::uint16_t fewest_sectors = 0;
  std::uint16_t lines = 0;
  std::uint16_t bank_passes = 0;  // global and local loads that hit: the L1 has the banks of shared memory
  std::uint16_t wavefronts = 0;   // shared memory, constants
  std::uint16_t fewest_wavefronts = 0;
  std::uint16_t same_address = 0;  // atomics: the most lanes at one address
  // Filled in by the replay.
  float missed_sectors = 0;
  double issued_at = 0;  // cycles, when nothing but dependencies delays the warp
};

struct BlockTrace {
  std::vector<std::vector<TraceEntry>> warps;
  std::vector<TraceAccess> accesses;
  std::vector<std::uint64_t> sectors;
  std::vector<std::pair<std::uint64_t, float>> atomic_addresses;  // global, with the updates that each stands for
  bool complete = true;                                           // false: it touched too much to be recorded
};

// Records one block after the other.
class BlockRecorder final : public AccessObserver {
 public:
  BlockRecorder(const StaticCode& code, DeviceMemory& memory) : code_(&code), memory_(&memory), cutter_(code) {}

  void begin_block(std::uint32_t warps, const LoopBudget& budget);
  LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) override;

  BlockTrace& trace() { return trace_; }
  const BlockTrace& trace() const { return trace_; }
  const LoopCutter& loops() const { return cutter_; }

 private:
  void record(std::uint32_t warp, std::uint32_t number, const ObservedAccess& access, float weight);
  void compare(Warp& warp, const Instruction& instruction, LaneMask active);
  std::int32_t allocation_of(std::uint64_t address);

  const StaticCode* code_;
  DeviceMemory* memory_;
  LoopCutter cutter_;
  BlockTrace trace_;
  std::size_t store_sectors_ = 0;
  const Allocation* last_allocation_ = nullptr;
  const FunctionCode* last_function_ = nullptr;
  std::uint32_t last_first_ = 0;
};

}  // namespace kw
