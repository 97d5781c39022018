#pragma once
// The module's variables from run to run: nothing may be carried over in them.

#include <string>
#include <utility>
#include <vector>

#include "base/work_budget.h"
#include "kernel/emulate/device_memory.h"

namespace kw {

// What the module's variables held before the first run.
class VariableState {
 public:
  // Nothing is kept when there is no memory for it; the judgement ends then anyway.
  VariableState(const DeviceMemory& memory, WorkBudget* budget);

  std::uint64_t bytes() const;

  // Bytes that a run has left changed count as never written: a later run may overwrite them, but whatever depends on
  // them depends on how often the kernel was called. True when there are any.
  bool forget_changes(const DeviceMemory& memory) const;

 private:
  std::vector<std::pair<int, std::string>> variables_;  // index of the allocation, content
  HeldMemory held_;
};

}  // namespace kw
