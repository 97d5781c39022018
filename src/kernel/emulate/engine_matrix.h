#pragma once
// What all tensor-core instructions begin with.

#include "kernel/emulate/warp.h"

namespace kw {

const MatrixOperation& matrix_of(const Warp& warp, const Instruction& in);

// They order the lanes' memory accesses, and need all 32 lanes: a finding otherwise.
void order_and_check(Warp& warp, const Instruction& in, LaneMask active);

}  // namespace kw
