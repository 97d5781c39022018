#pragma once
// The files of agents, opened: the one way from what a user names to a base, its adapters and a decoder on a device.
// Running agents (agent_model.h), learners and the commands about models all begin here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/episode/agent_set.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/adapter.h"
#include "model/decoder/model_files.h"
#include "model/rollout/decoder.h"

namespace kw {

struct AgentFiles {
  AgentSet set;
  ModelFiles base;
};

// What find_agents() finds, with its base opened. Adapters are read when they are wanted.
Result<AgentFiles> open_agents(const std::string& name_or_path);
// What agents.json in another folder names as the base: a fetched model's name, or an absolute path.
std::string base_name(const AgentSet& agents);

// A PEFT folder for a model of this shape; errors name the folder.
Result<Adapter> load_adapter(const std::filesystem::path& folder, const ModelDescription& description,
                             const std::string& name);

// "auto", "cpu" or "gpu". None: the CPU. An error where a GPU is wanted and cannot be used, and for any other word.
Result<std::optional<std::string>> gpu_for(const std::string& device);

struct DecoderChoice {
  std::string device = "auto";
  std::int64_t usable_vocabulary = 0;  // logits from here on are never considered; 0: all are
  std::int64_t most_rows = 256;        // answers at a time
  std::int64_t kv_bytes = 0;           // for keys and values; 0: the decoder's own choice
  LoadProgress progress = {};          // of reading the weights, where they are all read
};

struct OpenedDecoder {
  std::unique_ptr<Decoder> decoder;
  std::string device;  // "cpu", or the GPU's name
};

// The team must outlive it.
Result<OpenedDecoder> open_decoder(ThreadTeam& team, const ModelFiles& files, const std::vector<Adapter>& adapters,
                                   const DecoderChoice& choice);

}  // namespace kw
