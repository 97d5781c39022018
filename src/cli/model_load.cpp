#include "cli/model_load.h"

#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/model_source.h"

namespace kw::cli {

Result<ModelFiles> open_model(const std::string& name_or_path) {
  KW_TRY(const std::filesystem::path path, model_path_from_argument(name_or_path));
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

}  // namespace kw::cli
