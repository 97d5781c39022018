#include "agents/episode/agent_files.h"

#include <algorithm>

#include "model/decoder/model_name.h"
#include "model/decoder/nf4_base.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {

Result<AgentFiles> open_agents(const std::string& name_or_path) {
  KW_TRY(AgentSet agents, find_agents(name_or_path));
  KW_TRY(ModelFiles files, ModelFiles::open(agents.base));
  return AgentFiles{std::move(agents), std::move(files)};
}

std::string base_name(const AgentSet& agents) {
  if (agents.base == smollm2_file()) return std::string(smollm2_name);
  return std::filesystem::absolute(agents.base).string();
}

Result<Adapter> load_adapter(const std::filesystem::path& folder, const ModelDescription& description,
                             const std::string& name) {
  KW_TRY(const LoraAdapter file, read_lora_adapter(folder));
  auto adapter = adapter_from(file, description, name);
  if (adapter.ok()) return adapter;
  Error error = std::move(adapter).error();
  if (error.where.file.empty()) error.where.file = folder.string();
  return error;
}

Result<std::optional<std::string>> gpu_for(const std::string& device) {
  if (device != "auto" && device != "cpu" && device != "gpu")
    return Error{"there is no device '" + device + "'", "auto, cpu or gpu", {}};
  if (device == "cpu") return std::optional<std::string>();
  const auto gpu = model_gpu_name();
  if (gpu.ok()) return std::optional<std::string>(*gpu);
  if (device == "gpu") return gpu.error();
  return std::optional<std::string>();
}

Result<OpenedDecoder> open_decoder(ThreadTeam& team, const ModelFiles& files, const std::vector<Adapter>& adapters,
                                   const DecoderChoice& choice) {
  KW_TRY(const std::optional<std::string> gpu, gpu_for(choice.device));
  OpenedDecoder opened;
  opened.device = gpu.value_or("cpu");
  if (gpu) {
    GpuDecoderOptions options;
    options.usable_vocabulary = choice.usable_vocabulary;
    options.most_rows = choice.most_rows;
    if (choice.kv_bytes > 0) options.cache_bytes = choice.kv_bytes;
    // What bitsandbytes packed stays packed.
    KW_TRY(const auto stored, files.nf4("model.layers.0.self_attn.o_proj.weight"));
    if (stored) {
      KW_TRY(const Nf4Base base, load_nf4_base(team, files, choice.progress));
      KW_TRY(opened.decoder, make_gpu_decoder(base, adapters, options));
      return opened;
    }
    KW_TRY(const Parameters parameters, load_parameters(files, choice.progress));
    KW_TRY(opened.decoder, make_gpu_decoder(parameters, adapters, options));
    return opened;
  }
  CpuDecoderOptions options;
  options.usable_vocabulary = choice.usable_vocabulary;
  options.most_tokens = std::max(options.most_tokens, choice.most_rows);
  if (choice.kv_bytes > 0) options.kv_bytes = choice.kv_bytes;
  KW_TRY(opened.decoder, make_cpu_decoder(team, files, adapters, options));
  return opened;
}

}  // namespace kw
