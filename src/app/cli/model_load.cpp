#include "app/cli/model_load.h"

#include <optional>

#include "agents/episode/agent_files.h"
#include "base/progress.h"

namespace kw::cli {

Result<ModelFiles> open_model(const std::string& name_or_path) {
  KW_TRY(AgentFiles agents, open_agents(name_or_path));
  return std::move(agents.base);
}

namespace {

// A large model shows how far it is.
class LoadingShown {
 public:
  explicit LoadingShown(const ModelFiles& files) {
    constexpr std::int64_t shown_from_bytes = 200'000'000;
    const std::int64_t all = parameter_count(files.description()) * 4;
    if (all >= shown_from_bytes) progress_.emplace("loading, MB", static_cast<std::uint64_t>(all / megabyte));
  }
  LoadProgress report() {
    return [this](std::int64_t done, std::int64_t) {
      if (progress_) progress_->advance(static_cast<std::uint64_t>(done / megabyte - shown_));
      shown_ = done / megabyte;
    };
  }

 private:
  static constexpr std::int64_t megabyte = 1'000'000;
  std::optional<Progress> progress_;
  std::int64_t shown_ = 0;
};

}  // namespace

Result<Parameters> load_with_progress(const ModelFiles& files) {
  LoadingShown shown(files);
  return load_parameters(files, shown.report());
}

Result<std::vector<Adapter>> load_adapters(const std::string& folder, const ModelDescription& description) {
  std::vector<Adapter> adapters;
  if (folder.empty()) return adapters;
  KW_TRY(Adapter adapter, load_adapter(folder, description, "adapter"));
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
  LoadingShown shown(files);
  DecoderChoice choice;
  choice.device = device;
  choice.usable_vocabulary = usable_vocabulary;
  choice.progress = shown.report();
  KW_TRY(OpenedDecoder opened, kw::open_decoder(team, files, adapters, choice));
  return std::move(opened.decoder);
}

}  // namespace kw::cli
