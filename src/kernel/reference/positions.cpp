#include "kernel/reference/positions.h"

namespace kw {

Result<void> check_positions(const Task& task, const Positions& positions, const Sizes& sizes) {
  if (positions.size() != task.outputs.size())
    return Error{"positions are given for " + std::to_string(positions.size()) + " outputs, but '" + task.name +
                     "' has " + std::to_string(task.outputs.size()),
                 "",
                 {}};
  for (std::size_t i = 0; i < positions.size(); ++i) {
    KW_TRY(const std::int64_t elements, task.outputs[i].elements_at(sizes));
    for (const std::int64_t position : positions[i]) {
      if (position >= 0 && position < elements) continue;
      return Error{"position " + std::to_string(position) + " is outside the output '" + task.outputs[i].name +
                       "', which has " + std::to_string(elements) + " elements at " + to_string(sizes),
                   "",
                   {}};
    }
  }
  return {};
}

}  // namespace kw
