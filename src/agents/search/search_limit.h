#pragma once
// The time that a search can hope for: what the device's profile says of one kernel that moves every input and output
// once, or multiplies what has to be multiplied, and does nothing else.

#include <string>

#include "kernel/performance/device_profile.h"
#include "kernel/task/task.h"

namespace kw {

struct SearchLimit {
  double us = 0;     // geometric mean over the train sizes; 0: not known
  std::string what;  // at the first train size
};

// At the rates that are achieved, not those on paper (kernel/judge/floor.h has those). Every byte of the inputs counts:
// a task that needs only some of them may go below, and then the limit says nothing.
SearchLimit search_limit(const Task& task, const DeviceProfile& profile);

}  // namespace kw
