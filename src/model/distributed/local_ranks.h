#pragma once
// Several ranks on this machine without a launcher: this very program again, with the same arguments, once for each.

#include "base/result.h"

namespace kw {

// Waits for all of them. Returns the exit code that this program should end with: the first that is not 0. Ctrl-C is
// handed on once. When a rank dies the others end by themselves; who does not is ended.
Result<int> run_local_ranks(int count);

}  // namespace kw
