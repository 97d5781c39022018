#pragma once
// Elements of a task's outputs that a reference is asked for.

#include "kernel/reference/reference.h"

namespace kw {

// A list for each output, and every element inside it at these sizes.
Result<void> check_positions(const Task& task, const Positions& positions, const Sizes& sizes);

}  // namespace kw
