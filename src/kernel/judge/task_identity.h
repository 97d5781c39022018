#pragma once
// Which task: two with the same identity give every kernel the same verdict.

#include <string>

#include "kernel/task/task.h"

namespace kw {

// A hash of everything of the task that a verdict depends on.
std::string task_identity(const Task& task);

}  // namespace kw
