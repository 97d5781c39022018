#pragma once
// Agents that a model elsewhere speaks for (agents/endpoint): prompts, turns and judge are ours, the weights are not.

#include "agents/episode/agent_model.h"

namespace kw {

// "URL#NAME". The endpoint is asked once what it serves, so that a wrong address or key is said at once.
Result<std::unique_ptr<AgentModel>> open_endpoint_model(const std::string& name, const AgentModelOptions& options);

}  // namespace kw
