#pragma once
// Agents as a user names them: which base, and which adapter for each role. "tiny" and "smollm2" are shipped in
// weights/; any folder with agents.json is a set of agents, and so is a model without adapters. A run of training has
// agents too: those of its last stage. A package (agent_package.h) is such a folder in one file.

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/agent_role.h"
#include "base/result.h"

namespace kw {

struct AgentSet {
  std::filesystem::path base;                           // a model's folder or a GGUF file
  std::map<AgentRole, std::filesystem::path> adapters;  // PEFT folders
  std::filesystem::path prompts;                        // of a package: its own; empty: those of prompts_folder()
  // What is known of their training: config.json, summary.json, evaluation/*.json in a run's folder or a package's
  // about/; empty: nothing.
  std::filesystem::path records;
  // Benchmarks whose questions were among their lessons, such as "kernelbench": a score there would be
  // one of remembering.
  std::set<std::string> learned_from;
};

// "tiny", "smollm2", a folder with agents.json, a package, a model's folder or file, a name that `model fetch` knows,
// or a run of training by its folder or, in the runs' folder, its name. Says what to do when something is not there.
// Nothing of the models is read yet; a package is extracted into the cache.
Result<AgentSet> find_agents(const std::string& name_or_path);

// Of an adapter's folder that is named alone: what agents.json beside it says.
Result<std::set<std::string>> learned_from_of_adapter(const std::filesystem::path& folder);

// agents.json for a folder that holds a base (or names one) and adapters, as paths from the folder.
std::string agents_text(const std::string& base, const std::map<AgentRole, std::string>& adapters,
                        const std::set<std::string>& learned_from = {});
Result<void> write_agents_file(const std::filesystem::path& folder, const std::string& base,
                               const std::map<AgentRole, std::string>& adapters,
                               const std::set<std::string>& learned_from = {});

// Of the files of a set: base, tokenizer, adapters.
Result<std::string> content_hash(const AgentSet& agents);

}  // namespace kw
