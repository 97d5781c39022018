#pragma once
// The model behind the agents: one base, and an adapter for each role that has one. A set of agents is a folder with
// agents.json:
//
//   {"format": 1, "base": ".", "adapters": {"generator": "generator", "optimizer": "optimizer"}}
//
// `base` is a path from the folder (a model's folder or a GGUF file) or a name that `model fetch` knows; adapters are
// PEFT folders. A role without an adapter speaks with the bare base. "URL#NAME" is a model that somebody else serves
// (agents/endpoint): it has no weights here, and so no decoder.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agents/agent/dialect.h"
#include "base/agent_role.h"
#include "model/rollout/rollout.h"

namespace kw {

struct AgentModelOptions {
  std::string device = "auto";   // auto, cpu, gpu
  int threads = 0;               // CPU; 0: all cores
  std::int64_t most_rows = 256;  // answers at a time
  std::int64_t kv_bytes = 0;     // for keys and values; 0: the decoder's own choice
};

class AgentModel {
 public:
  // What find_agents() knows (agent_set.h), or an endpoint.
  static Result<std::unique_ptr<AgentModel>> open(const std::string& name_or_path,
                                                  const AgentModelOptions& options = {});
  virtual ~AgentModel() = default;

  virtual const std::string& name() const = 0;    // as it was asked for
  virtual const std::string& device() const = 0;  // "cpu", or the GPU's name
  virtual const Dialect& dialect() const = 0;
  // The system message of chats with the bare base that have none of their own; empty: none.
  virtual const std::string& default_system() const = 0;
  virtual Decoder* decoder() = 0;  // null: the weights are elsewhere
  // Answers of this model; they must not outlive it.
  virtual Result<std::unique_ptr<AnswerSource>> make_answers(const RolloutOptions& options = {});
  virtual std::int64_t context();                             // tokens of a prompt and its answer together
  virtual std::int32_t adapter_of(AgentRole role) const = 0;  // -1: the bare base
  // Benchmarks that they learned from (agent_set.h).
  virtual const std::set<std::string>& learned_from() const;
  // Identifies the weights: base, adapters, tokenizer and prompts.
  virtual const std::string& fingerprint() const = 0;
};

}  // namespace kw
