#pragma once
// A random program as a task: a chain or small graph of stages with element-wise expressions between them
// (docs/draw.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/draw/stage.h"
#include "agents/program/graph.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::programs {

enum class ProgramSplit : std::uint8_t { train, novel };

struct DrawOptions {
  std::uint64_t seed = 1;
  ProgramSplit split = ProgramSplit::train;
  std::vector<const Family*> begin_with;  // empty: any of the split
};

struct DrawnProgram {
  std::uint64_t index = 0;
  Task task;
  std::vector<const Family*> families;  // of its stages, in order; none twice
};

// Program `index` is a function of seed, split, families and index alone.
DrawnProgram draw_program(const DrawOptions& options, std::uint64_t index);

// A drawn program with its graph, none of whose kind is held out (held_graphs.h): the first attempt that is not.
struct ReadProgram {
  DrawnProgram drawn;
  program::Graph graph;
  std::uint64_t signature = 0;
};
Result<ReadProgram> read_drawn(const DrawOptions& options, std::uint64_t index);

}  // namespace kw::programs
