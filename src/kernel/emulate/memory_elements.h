#pragma once
// Moving one element of every lane between memory and a register: widths, sign extension, and the three common shapes
// of addresses.

#include "kernel/emulate/access_shape.h"
#include "kernel/emulate/warp.h"

namespace kw {

// Element `k` of the access. `data` is where the shape's offsets count from.
void load_element(Warp& warp, const MemoryAccess& access, int k, const std::byte* data, const AccessShape& shape,
                  LaneMask active);
void store_element(Warp& warp, const MemoryAccess& access, int k, std::byte* data, const AccessShape& shape,
                   LaneMask active);

}  // namespace kw
