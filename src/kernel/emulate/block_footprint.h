#pragma once
// What single blocks of a launch write, what they lack, and how much they do: which block makes an element is learned
// from that.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "kernel/emulate/access_observer.h"
#include "kernel/emulate/device_memory.h"

namespace kw {

struct BlockFootprint {
  std::vector<AddressRange> stored;   // global memory; sorted and joined by the recorder
  std::vector<AddressRange> updated;  // a part of `stored`: by atomics, so that other blocks may have a share in it
  std::vector<AddressRange> lacked;   // was read, or updated, and nobody had written it
  std::vector<AddressRange> loaded;   // of memory that launches may write; only where a block runs as it is
  std::uint64_t warp_instructions = 0;
};

class FootprintRecorder : public AccessObserver {
 public:
  enum class Depth {
    whole,  // as it is
    count,  // as it is, and only instructions are recorded: for whole grids
    skim,   // loops that store nothing are left after their first round: where a block stores seldom depends on them
  };
  FootprintRecorder(const DeviceMemory& memory, Depth depth) : memory_(memory), depth_(depth) {}

  LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) override;

  // By block, since the last call.
  std::map<std::uint64_t, BlockFootprint> take();

 private:
  void note_accesses(Warp& warp, const Instruction& instruction, LaneMask active);
  void note_lacking(const ObservedAccess& access, std::vector<AddressRange>& into) const;
  void note_loaded(const ObservedAccess& access, std::vector<AddressRange>& into) const;
  bool is_idle_loop(const Program& program, const FunctionCode& function, std::uint32_t branch);

  const DeviceMemory& memory_;
  const Depth depth_;
  std::map<std::uint64_t, BlockFootprint> blocks_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  BlockFootprint* last_ = nullptr;
  // By function: 0 unknown, 1 a branch back over code without stores, 2 anything else.
  std::unordered_map<const FunctionCode*, std::vector<std::uint8_t>> loops_;
};

// Sorted, without overlaps or neighbours.
void join_ranges(std::vector<AddressRange>& ranges);

}  // namespace kw
