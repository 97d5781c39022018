#pragma once
// Which slot each register of a function gets. Registers that are never alive at the same time share one, so that a
// warp's register file stays in the first-level cache. Lanes are independent columns of a slot, so the usual liveness
// of straight threads is enough.

#include <cstdint>
#include <vector>

#include "kernel/emulate/decode_blocks.h"
#include "kernel/emulate/program.h"
#include "kernel/emulate/ptx_module.h"

namespace kw {

struct RegisterPlaces {
  std::vector<Slot> slot;               // by register; no_slot for predicates and registers that are never used
  std::vector<std::int32_t> predicate;  // by register
  std::uint32_t predicates = 0;
  std::uint32_t file_bytes = 0;
  std::vector<LaneMask> initially_undefined;
};

RegisterPlaces place_registers(const PtxFunction& function, const std::vector<BasicBlock>& blocks);

// Registers (not predicates) that an instruction reads and writes, as indices; a register inside an address or a vector
// counts.
void registers_of(const PtxFunction& function, const PtxInstruction& instruction, std::vector<int>& read,
                  std::vector<int>& written);
bool has_destination(const PtxInstruction& instruction);

}  // namespace kw
