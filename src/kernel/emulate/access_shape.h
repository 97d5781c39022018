#pragma once
// How the addresses of a warp's access lie to each other, found in one vector pass: most accesses are side by side or
// all the same.

#include <cstddef>
#include <cstdint>

#include "kernel/emulate/lane_operations.h"
#include "kernel/emulate/program.h"

namespace kw {

struct AccessShape {
  std::uint32_t offset[warp_lanes];  // from the base; meaningless for inactive lanes
  LaneMask heads = all_lanes;  // lanes whose offset is not that of the lane before; meaningful with all lanes active
  bool inside = false;         // every active lane, with all its bytes
  bool aligned = false;
  bool run = false;      // lane l is at offset[first] + (l - first) * bytes
  bool uniform = false;  // all the same
};

// The addresses of the lanes: a register with 4 or 8 bytes a lane, plus a constant (narrow ones wrap at 32 bits).
struct LaneAddresses {
  const std::byte* lanes = nullptr;
  bool wide = true;
  std::uint64_t add = 0;

  std::uint64_t of(int lane) const {
    return wide ? reinterpret_cast<const std::uint64_t*>(lanes)[lane] + add
                : static_cast<std::uint32_t>(reinterpret_cast<const std::uint32_t*>(lanes)[lane] + add);
  }
};

// What is accessed: `limit` is the last offset from `base` at which `bytes` still fit.
struct AccessRange {
  std::uint64_t base = 0;
  std::uint64_t limit = 0;
  std::uint32_t bytes = 0;
};

using ShapeFunction = void (*)(const LaneAddresses& addresses, LaneMask active, const AccessRange& range,
                               AccessShape& shape);
ShapeFunction shape_function(VectorUnit unit);

}  // namespace kw
