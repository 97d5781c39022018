#pragma once
// Whether a task's PyTorch text computes anything at all: asked before a kernel is written or judged, so that a broken
// text is not blamed on kernels.

#include "base/result.h"
#include "kernel/task/task.h"

namespace kw {

// Runs it in both precisions at every small size.
Result<void> check_reference(const Task& task);

}  // namespace kw
