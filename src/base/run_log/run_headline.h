#pragma once
// What a person wants to see first of a run.

#include <optional>
#include <string>
#include <vector>

#include "base/run_log/run_store.h"

namespace kw {

// As the run says, but "stopped" for one that says "running" and that no process has open: one that was killed cannot
// say so.
std::string status_now(const RunRecord& run);

// The metric that says most about a run of any kind; none: it has no metrics.
std::optional<std::string> headline_metric(const std::vector<std::string>& names);

}  // namespace kw
