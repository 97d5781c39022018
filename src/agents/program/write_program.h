#pragma once
// A kernel file for any graph: correct first, plain, one kernel a stage (schedule.h) with scratch in between. It is
// what a task without a naive kernel is compared with, and where `optimize` may start.

#include <string>

#include "agents/program/graph.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::program {

// The graph is `task`'s own. An error names the stage that has no kernel.
Result<std::string> write_program(const Task& task, Graph graph);

}  // namespace kw::program
