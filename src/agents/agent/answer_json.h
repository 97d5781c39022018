#pragma once
// An answer as JSON: `kernelwright answer --json` and the service's /v1/answer.

#include <nlohmann/json.hpp>

#include "agents/agent/answer.h"

namespace kw {

// outcome, message, kernel (null without one), said, claimed, strategies (seen in the kernel), fenced, ended, blocks.
nlohmann::ordered_json to_json(const Answer& answer);

}  // namespace kw
