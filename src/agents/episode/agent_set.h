#pragma once
// Agents as a user names them: which base, and which adapter for each role. "tiny" and "smollm2" are shipped in
// weights/; any folder with agents.json is a set of agents, and so is a model without adapters. A run of training has
// agents too: those of its last stage.

#include <filesystem>
#include <map>
#include <string>

#include "base/agent_role.h"
#include "base/result.h"

namespace kw {

struct AgentSet {
  std::filesystem::path base;                           // a model's folder or a GGUF file
  std::map<AgentRole, std::filesystem::path> adapters;  // PEFT folders
};

// "tiny", "smollm2", a folder with agents.json, a model's folder or file, a name that `model fetch` knows, or a run of
// training by its folder or, in the runs' folder, its name. Says what
// to do when something is not there. Nothing of the models is read yet.
Result<AgentSet> find_agents(const std::string& name_or_path);

// agents.json for a folder that holds a base (or names one) and adapters, as paths from the folder.
Result<void> write_agents_file(const std::filesystem::path& folder, const std::string& base,
                               const std::map<AgentRole, std::string>& adapters);

// Of the files of a set: base, tokenizer, adapters.
Result<std::string> content_hash(const AgentSet& agents);

}  // namespace kw
