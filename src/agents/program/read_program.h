#pragma once
// A task's PyTorch text as a graph (graph.h), or the construct that is not understood and its line.

#include "agents/program/graph.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::program {

// Outputs have the task's types and shapes; none is an input or another output.
Result<Graph> read_program(const Task& task);

}  // namespace kw::program
