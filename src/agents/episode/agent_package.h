#pragma once
// A set of agents in one file, for another machine: find_agents() takes it wherever it takes a folder. In it:
//
//   manifest.json      every file with size and SHA-256, the base, the fingerprint (agents/package/manifest.h)
//   agents.json        as in every set of agents
//   base/              the model and its tokenizer; not there where `model fetch` knows the base
//   adapters/ROLE/     PEFT folders
//   prompts/           the templates that the agents are asked with
//   about/             configuration, summary and evaluations of the run that trained them, where there is one

#include <filesystem>
#include <string>

#include "agents/package/manifest.h"
#include "base/result.h"

namespace kw {

// `with_base`: also a base that could be fetched. The model is opened first, so that nothing broken is packed.
Result<PackageManifest> pack_agents(const std::string& name_or_path, const std::filesystem::path& out, bool with_base);

}  // namespace kw
