#pragma once
// The order of a function's instructions: basic blocks in reverse post-order with each loop in one piece. A warp always
// runs its lanes with the smallest program counter, so in this order diverged lanes wait for each other where their
// paths meet again ("thread frontiers", Diamos et al., MICRO 2011).

#include <cstdint>
#include <vector>

#include "kernel/emulate/ptx_module.h"

namespace kw {

struct BasicBlock {
  std::uint32_t first = 0;  // instructions of PtxFunction::body: [first, end)
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;  // blocks, as indices into the same list
};

// Reachable blocks in the order in which they are laid out. Where a block falls through to one that does not follow it,
// the decoder adds a jump.
std::vector<BasicBlock> order_blocks(const PtxFunction& function);

// Does control leave the straight line behind this instruction?
bool ends_block(const PtxInstruction& instruction);
bool falls_through(const PtxInstruction& instruction);

}  // namespace kw
