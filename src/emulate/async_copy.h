#pragma once
// cp.async: the data arrives in shared memory when the thread waits for it, at the latest when the block ends.

#include "emulate/warp.h"

namespace kw {

void finish_copies(Warp& warp);

}  // namespace kw
