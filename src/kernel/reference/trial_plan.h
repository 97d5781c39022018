#pragma once
// When repeated timings are enough.

#include <vector>

#include "base/statistics.h"
#include "kernel/reference/reference.h"

namespace kw {

bool trials_are_enough(const std::vector<double>& trials_us, double wall_ms, const TimingOptions& options);

}  // namespace kw
