#include "agents/episode/agent_model.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "agents/endpoint/endpoint_name.h"
#include "agents/episode/agent_files.h"
#include "agents/episode/endpoint_model.h"
#include "agents/episode/prompt_files.h"
#include "base/hash.h"
#include "model/weights/chat_template.h"

namespace kw {
namespace {

struct LoadedAdapters {
  std::vector<Adapter> list;
  std::map<AgentRole, std::int32_t> of_role;
};

Result<LoadedAdapters> adapters_of(const AgentFiles& agents) {
  LoadedAdapters adapters;
  for (const auto& [role, folder] : agents.set.adapters) {
    KW_TRY(Adapter adapter, load_adapter(folder, agents.base.description(), std::string(to_string(role))));
    adapters.of_role[role] = static_cast<std::int32_t>(adapters.list.size());
    adapters.list.push_back(std::move(adapter));
  }
  return adapters;
}

// Agents are asked in the words that they learned: those that came with them, unless a person asks for others.
Result<std::filesystem::path> prompts_of(const AgentSet& agents) {
  const char* chosen = std::getenv("KERNELWRIGHT_PROMPTS");
  if (agents.prompts.empty() || (chosen && *chosen)) return prompts_folder();
  return agents.prompts;
}

class LoadedAgentModel : public AgentModel {
 public:
  LoadedAgentModel(std::string name, Dialect dialect, int threads)
      : name_(std::move(name)), dialect_(std::move(dialect)), team_(threads) {}

  Result<void> load(const ModelFiles& files, LoadedAdapters adapters, const AgentModelOptions& options) {
    adapter_of_ = std::move(adapters.of_role);
    // Rows of the output beyond the tokenizer are padding.
    const auto usable =
        std::min<std::int64_t>(files.description().vocabulary, static_cast<std::int64_t>(dialect_.tokenizer().size()));
    KW_TRY(OpenedDecoder opened, open_decoder(team_, files, adapters.list,
                                              {.device = options.device,
                                               .usable_vocabulary = usable,
                                               .most_rows = options.most_rows,
                                               .kv_bytes = options.kv_bytes}));
    device_ = std::move(opened.device);
    decoder_ = std::move(opened.decoder);
    return {};
  }

  void set_default_system(std::string message) { default_system_ = std::move(message); }
  void set_fingerprint(std::string fingerprint) { fingerprint_ = std::move(fingerprint); }
  void set_learned_from(std::set<std::string> benchmarks) { learned_from_ = std::move(benchmarks); }

  const std::string& name() const override { return name_; }
  const std::string& device() const override { return device_; }
  const Dialect& dialect() const override { return dialect_; }
  const std::string& default_system() const override { return default_system_; }
  Decoder* decoder() override { return decoder_.get(); }
  const std::string& fingerprint() const override { return fingerprint_; }
  const std::set<std::string>& learned_from() const override { return learned_from_; }
  std::int32_t adapter_of(AgentRole role) const override {
    const auto found = adapter_of_.find(role);
    return found == adapter_of_.end() ? -1 : found->second;
  }

 private:
  std::string name_;
  std::string device_;
  std::string fingerprint_;
  std::string default_system_;
  std::set<std::string> learned_from_;
  Dialect dialect_;
  ThreadTeam team_;
  std::map<AgentRole, std::int32_t> adapter_of_;
  std::unique_ptr<Decoder> decoder_;  // after the team that it computes with
};

}  // namespace

Result<std::unique_ptr<AnswerSource>> AgentModel::make_answers(const RolloutOptions& options) {
  return std::unique_ptr<AnswerSource>(std::make_unique<Rollout>(*decoder(), &dialect().tokenizer(), options));
}

const std::set<std::string>& AgentModel::learned_from() const {
  static const std::set<std::string> nothing;
  return nothing;
}

std::int64_t AgentModel::context() { return decoder()->context(); }

Result<std::unique_ptr<AgentModel>> AgentModel::open(const std::string& name_or_path,
                                                     const AgentModelOptions& options) {
  if (options.most_rows < 1) return Error{"at least one row is needed", "", {}};
  if (looks_like_endpoint(name_or_path)) return open_endpoint_model(name_or_path, options);
  KW_TRY(const AgentFiles agents, open_agents(name_or_path));
  KW_TRY(Tokenizer tokenizer, agents.base.tokenizer());
  KW_TRY(const std::filesystem::path prompts, prompts_of(agents.set));
  KW_TRY(PromptBook book, PromptBook::load(prompts));
  KW_TRY(Dialect dialect, Dialect::make(std::move(tokenizer), std::move(book)));
  KW_TRY(LoadedAdapters adapters, adapters_of(agents));
  KW_TRY(const std::string content, content_hash(agents.set));
  KW_TRY(const std::string prompts_content, prompts_hash(dialect, prompts));
  auto model = std::make_unique<LoadedAgentModel>(name_or_path, std::move(dialect), options.threads);
  KW_TRY_VOID(model->load(agents.base, std::move(adapters), options));
  model->set_default_system(default_system_of(chat_template_of(agents.set.base)));
  model->set_learned_from(agents.set.learned_from);
  model->set_fingerprint(sha256_hex(content + prompts_content));
  return std::unique_ptr<AgentModel>(std::move(model));
}

}  // namespace kw
