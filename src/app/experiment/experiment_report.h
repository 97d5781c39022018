#pragma once
// An experiment as one JSON value, for the command line, an API and a page alike.

#include <nlohmann/json.hpp>

#include <vector>

#include "app/experiment/live_experiment.h"

namespace kw {

// Where it stands, what each arm did, how candidates compare with the control (intervals that are valid at every look,
// at the level 1 - false_alarm each), how near guardrails are to rolling back, the sample ratio, and the trail.
nlohmann::ordered_json report_of(const LiveExperiment& experiment, const std::vector<AuditRow>& trail);

}  // namespace kw
