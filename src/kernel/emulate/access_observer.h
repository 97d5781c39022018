#pragma once
// Watching a run instruction by instruction, for the performance model. A run without an observer pays nothing for it:
// the interpreter's loop exists twice.

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernel/emulate/program.h"

namespace kw {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;

  // Before each warp instruction: `mask` are the lanes that stand at it, `active` those that its guard lets through.
  // Returns the lanes for which it is executed: `active`, except that a branch may be bent (to leave a loop early). The
  // registers may be changed too.
  virtual LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) = 0;
};

// What one warp instruction does to one state space.
struct ObservedAccess {
  enum class Kind : std::uint8_t { load, store, atomic, reduction, copy_async, matrix_load, matrix_store };
  Kind kind = Kind::load;
  PtxSpace space = PtxSpace::global;  // never generic
  bool read_only_path = false;        // .nc
  std::uint32_t bytes = 0;            // of each lane
  LaneMask active = 0;
  std::array<std::uint64_t, warp_lanes> addresses;  // global: as DeviceMemory has them; otherwise within the space
};

// The accesses of an instruction that is about to be executed: none for what does not touch memory, one mostly, several
// for a generic access whose lanes differ in space and for cp.async, which has a global and a shared side.
inline constexpr std::size_t most_observed_accesses = 4;
std::size_t observed_accesses(Warp& warp, const Instruction& instruction, LaneMask active,
                              std::array<ObservedAccess, most_observed_accesses>& accesses);

}  // namespace kw
