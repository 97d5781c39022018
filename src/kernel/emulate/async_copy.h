#pragma once
// Asynchronous copies into shared memory (cp.async). A copy may land at any moment between its issue and the wait for
// its group (PTX ISA 9.0, 9.7.9.25.1), so nobody may touch its destination and nobody may change its source in between.
// While a copy is under way the shadow of its destination says `shared_in_flight`; RunOptions::copies_land_early
// decides which of the two extremes the memory itself shows.

#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/warp.h"

namespace kw {

// Does a copy fly to any of these bytes of the block's shared memory?
bool touches_flight(const MemoryView& view, std::uint32_t offset, std::uint32_t bytes);

// One lane accesses shared memory that a copy flies to.
void report_flight(Warp& warp, const Instruction& instruction, int lane, std::uint32_t offset, std::uint32_t bytes,
                   AccessKind kind);

void finish_copies(Warp& warp);

}  // namespace kw
