#include "app/cli/model_load.h"

#include "base/interrupt.h"
#include "base/progress.h"
#include "model/decoder/model_name.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/cpu_decoder.h"

namespace kw::cli {

Result<ModelFiles> open_model(const std::string& name_or_path) {
  KW_TRY(const std::filesystem::path path, model_path(name_or_path));
  return ModelFiles::open(path);
}

Result<Parameters> load_with_progress(const ModelFiles& files) {
  constexpr std::int64_t shown_from_bytes = 200'000'000;
  constexpr std::int64_t megabyte = 1'000'000;
  const std::int64_t all = parameter_count(files.description()) * 4;
  if (all < shown_from_bytes) return load_parameters(files);
  Progress progress("loading, MB", static_cast<std::uint64_t>(all / megabyte));
  std::int64_t shown = 0;
  return load_parameters(files, [&](std::int64_t done, std::int64_t) {
    progress.advance(static_cast<std::uint64_t>(done / megabyte - shown));
    shown = done / megabyte;
  });
}

Result<std::vector<Adapter>> load_adapters(const std::string& folder, const ModelDescription& description) {
  std::vector<Adapter> adapters;
  if (folder.empty()) return adapters;
  KW_TRY(const LoraAdapter file, read_lora_adapter(folder));
  KW_TRY(Adapter adapter, adapter_from(file, description, "adapter"));
  adapters.push_back(std::move(adapter));
  return adapters;
}

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "where to compute; auto: a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}));
}

Result<std::unique_ptr<Decoder>> open_decoder(const std::string& device, ThreadTeam& team, const ModelFiles& files,
                                              const std::vector<Adapter>& adapters, std::int64_t usable_vocabulary) {
  const auto gpu = device == "cpu" ? Result<std::string>(Error{"not wanted", "", {}}) : model_gpu_name();
  if (device == "gpu" && !gpu.ok()) return gpu.error();
  if (gpu.ok()) {
    GpuDecoderOptions options;
    options.usable_vocabulary = usable_vocabulary;
    KW_TRY(const Parameters parameters, load_with_progress(files));
    return make_gpu_decoder(parameters, adapters, options);
  }
  CpuDecoderOptions options;
  options.usable_vocabulary = usable_vocabulary;
  KW_TRY(std::unique_ptr<Decoder> decoder, make_cpu_decoder(team, files, adapters, options));
  return decoder;
}

}  // namespace kw::cli
