#pragma once
// Race checks for a whole warp's load or store; see race_shadow.h for what is remembered.

#include "kernel/emulate/access_shape.h"
#include "kernel/emulate/memory_view.h"

namespace kw {

// `view.races` is not null; every active lane is inside and aligned.
void race_load(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
               const AccessShape& shape, LaneMask active);
// In the second run of a launch (racy_values.h), before race_load: the lanes of which this element races.
LaneMask racing_lanes(Warp& warp, const MemoryAccess& access, const MemoryView& view, const AccessShape& shape,
                      LaneMask active, int element);
// Before the store, because what is in memory tells whether the same value is written.
void race_store(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
                const AccessShape& shape, LaneMask active);

}  // namespace kw
