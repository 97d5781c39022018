#include "model/distributed/shared_run.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

class SilentLog final : public RunLog {
 public:
  Result<void> metrics(std::int64_t, const Metrics&) override { return {}; }
  Result<void> text(std::int64_t, std::string_view, std::string_view) override { return {}; }
  Result<void> flush() override { return {}; }
  Result<void> set_configuration(const Json&) override { return {}; }
  Result<void> finish(std::string_view, const Json&) override { return {}; }
};

}  // namespace

std::unique_ptr<RunLog> silent_log() { return std::make_unique<SilentLog>(); }

Result<std::optional<Checkpoint>> latest_of_all(Communicator* ranks, const Checkpoints& checkpoints) {
  if (rank_count(ranks) == 1) return checkpoints.latest();
  std::optional<Checkpoint> latest;
  std::string said;
  if (ranks->is_first()) {
    KW_TRY(latest, checkpoints.latest());
    if (latest)
      said = Json{{"step", latest->step}, {"facts", latest->facts}, {"folder", latest->folder.string()}}.dump();
  }
  KW_TRY(said, ranks->broadcast(std::move(said)));
  if (ranks->is_first() || said.empty()) return latest;
  try {
    const Json json = Json::parse(said);
    Checkpoint checkpoint;
    checkpoint.step = json.at("step").get<std::int64_t>();
    checkpoint.facts = json.at("facts");
    checkpoint.folder = json.at("folder").get<std::string>();
    return std::optional(std::move(checkpoint));
  } catch (const nlohmann::json::exception& error) {
    return Error{std::string("rank 0 says nonsense about its checkpoint: ") + error.what(), "", {}};
  }
}

Result<void> save_for_all(Communicator* ranks, Checkpoints& checkpoints, std::int64_t step, std::optional<double> score,
                          const Json& facts, const std::function<Result<void>(const std::filesystem::path&)>& write) {
  if (!is_first(ranks)) return write({});
  KW_TRY([[maybe_unused]] const Checkpoint saved, checkpoints.save(step, score, facts, write));
  return {};
}

}  // namespace kw
