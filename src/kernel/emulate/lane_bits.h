#pragma once
// Walking over the lanes of a mask.

#include "kernel/emulate/program.h"

namespace kw {

template <class Visit>
void for_lanes(LaneMask lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(__builtin_ctz(lanes));
}

// Are they neighbours without a gap? Never called without lanes.
inline bool is_run(LaneMask lanes) {
  LaneMask shifted = lanes >> __builtin_ctz(lanes);
  return (shifted & (shifted + 1)) == 0;
}

}  // namespace kw
