#pragma once
// Models and adapters for the commands that compute with them.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/adapter.h"
#include "model/decoder/model_files.h"
#include "model/rollout/decoder.h"

namespace kw::cli {

// MODEL on the command line: a model, or the base of agents (agents/episode/agent_files.h).
Result<ModelFiles> open_model(const std::string& name_or_path);
// A large model shows how far it is.
Result<Parameters> load_with_progress(const ModelFiles& files);
// None for an empty name.
Result<std::vector<Adapter>> load_adapters(const std::string& folder, const ModelDescription& description);

// `--device cpu|gpu|auto`: auto takes a GPU where one can be used.
void add_device_option(CLI::App& command, std::string& device);
// The team must outlive it. Logits from usable_vocabulary on are never considered; 0: all are.
Result<std::unique_ptr<Decoder>> open_decoder(const std::string& device, ThreadTeam& team, const ModelFiles& files,
                                              const std::vector<Adapter>& adapters, std::int64_t usable_vocabulary = 0);

}  // namespace kw::cli
