#include "agents/episode/agent_model.h"

#include <algorithm>
#include <map>

#include "agents/episode/agent_set.h"
#include "base/file.h"
#include "base/hash.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {
namespace {

struct LoadedAdapters {
  std::vector<Adapter> list;
  std::map<AgentRole, std::int32_t> of_role;
};

Result<LoadedAdapters> load_adapters(const AgentSet& agents, const ModelDescription& description) {
  LoadedAdapters adapters;
  for (const auto& [role, folder] : agents.adapters) {
    auto file = read_lora_adapter(folder);
    if (!file.ok()) return file.error();
    auto adapter = adapter_from(*file, description, std::string(to_string(role)));
    if (!adapter.ok()) {
      Error error = std::move(adapter).error();
      if (error.where.file.empty()) error.where.file = folder.string();
      return error;
    }
    adapters.of_role[role] = static_cast<std::int32_t>(adapters.list.size());
    adapters.list.push_back(std::move(adapter).value());
  }
  return adapters;
}

// Of the prompts that a dialect speaks with.
Result<std::string> prompts_hash(const Dialect& dialect) {
  KW_TRY(const std::filesystem::path folder, prompts_folder());
  const bool compact = dialect.style() == PromptStyle::compact;
  Sha256 hash;
  for (const AgentRole role : {AgentRole::generator, AgentRole::optimizer, AgentRole::tester})
    for (const char* part : {"", "_system", "_user"}) {
      if (compact != (*part == '\0')) continue;
      const std::string name = std::string(to_string(role)) + part + ".txt";
      KW_TRY(const std::string text, read_file(folder / (compact ? "compact" : "chatml") / name, max_template_bytes));
      hash.add(name).add(text);
    }
  return hash.hex();
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
    const auto gpu = options.device == "cpu" ? Result<std::string>(Error{"not wanted", "", {}}) : model_gpu_name();
    if (options.device == "gpu" && !gpu.ok()) return gpu.error();
    if (gpu.ok()) {
      device_ = *gpu;
      GpuDecoderOptions decoding;
      decoding.usable_vocabulary = usable;
      decoding.most_rows = options.most_rows;
      if (options.kv_bytes > 0) decoding.cache_bytes = options.kv_bytes;
      KW_TRY(const Parameters parameters, load_parameters(files));
      KW_TRY(decoder_, make_gpu_decoder(parameters, adapters.list, decoding));
      return {};
    }
    device_ = "cpu";
    CpuDecoderOptions decoding;
    decoding.usable_vocabulary = usable;
    decoding.most_tokens = std::max(decoding.most_tokens, options.most_rows);
    if (options.kv_bytes > 0) decoding.kv_bytes = options.kv_bytes;
    KW_TRY(decoder_, make_cpu_decoder(team_, files, adapters.list, decoding));
    return {};
  }

  void set_fingerprint(std::string fingerprint) { fingerprint_ = std::move(fingerprint); }

  const std::string& name() const override { return name_; }
  const std::string& device() const override { return device_; }
  const Dialect& dialect() const override { return dialect_; }
  Decoder& decoder() override { return *decoder_; }
  const std::string& fingerprint() const override { return fingerprint_; }
  std::int32_t adapter_of(AgentRole role) const override {
    const auto found = adapter_of_.find(role);
    return found == adapter_of_.end() ? -1 : found->second;
  }

 private:
  std::string name_;
  std::string device_;
  std::string fingerprint_;
  Dialect dialect_;
  ThreadTeam team_;
  std::map<AgentRole, std::int32_t> adapter_of_;
  std::unique_ptr<Decoder> decoder_;  // after the team that it computes with
};

}  // namespace

Result<std::unique_ptr<AgentModel>> AgentModel::open(const std::string& name_or_path,
                                                     const AgentModelOptions& options) {
  if (options.device != "auto" && options.device != "cpu" && options.device != "gpu")
    return Error{"there is no device '" + options.device + "'", "auto, cpu or gpu", {}};
  if (options.most_rows < 1) return Error{"at least one row is needed", "", {}};
  KW_TRY(const AgentSet agents, find_agents(name_or_path));
  KW_TRY(const ModelFiles files, ModelFiles::open(agents.base));
  KW_TRY(Tokenizer tokenizer, files.tokenizer());
  KW_TRY(Dialect dialect, Dialect::make(std::move(tokenizer)));
  KW_TRY(LoadedAdapters adapters, load_adapters(agents, files.description()));
  KW_TRY(const std::string content, content_hash(agents));
  KW_TRY(const std::string prompts, prompts_hash(dialect));
  auto model = std::make_unique<LoadedAgentModel>(name_or_path, std::move(dialect), options.threads);
  KW_TRY_VOID(model->load(files, std::move(adapters), options));
  model->set_fingerprint(sha256_hex(content + prompts));
  return std::unique_ptr<AgentModel>(std::move(model));
}

}  // namespace kw
