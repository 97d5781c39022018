#pragma once
// Tasks whose shapes are numbers (`[64, 128]`), in the words of drawn tasks, whose sizes have names. An agent is asked
// for a launcher with sizes; in the launcher that is judged they are constants at the head of its body
// (launcher_order.h).

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/task/task.h"

namespace kw {

struct NamedShapes {
  Task task;                       // extents that were numbers are names, with these numbers as their only sizes
  std::vector<std::string> names;  // of them, in the order in which they first appear
};

// Ways to name the numbers of a task, the likeliest first: without small ones, which are windows of convolutions, then
// with them. Equal numbers get one name. Empty where there is none.
std::vector<NamedShapes> with_named_shapes(const Task& task);

}  // namespace kw
