#include "app/pipeline/pipeline_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/bounded_json.h"
#include "base/file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t max_record_bytes = std::size_t{1} << 20;
constexpr std::array<std::pair<StageState, std::string_view>, 5> state_names{{
    {StageState::waiting, "waiting"},
    {StageState::running, "running"},
    {StageState::interrupted, "interrupted"},
    {StageState::failed, "failed"},
    {StageState::done, "done"},
}};

Error damaged(const std::string& what) {
  return {"this is not the record of a training run: " + what,
          "delete it: the stages then resume from their own checkpoints",
          {}};
}

Result<StageRecord> stage_from_json(const Json& json) {
  if (!json.is_object()) return damaged("a stage is no object");
  StageRecord stage;
  const auto name = json.find("name"), state = json.find("state"), seconds = json.find("seconds"),
             results = json.find("results");
  if (name == json.end() || !name->is_string()) return damaged("a stage without a name");
  stage.name = name->get<std::string>();
  if (state == json.end() || !state->is_string()) return damaged("a stage without a state");
  const auto known = std::ranges::find(state_names, state->get<std::string>(),
                                       [](const auto& one) { return std::string(one.second); });
  if (known == state_names.end()) return damaged("a stage in no known state");
  stage.state = known->first;
  if (seconds == json.end() || !seconds->is_number() || !(seconds->get<double>() >= 0) ||
      !std::isfinite(seconds->get<double>()))
    return damaged("a stage without its seconds");
  stage.seconds = seconds->get<double>();
  if (results == json.end() || !results->is_object()) return damaged("a stage without results");
  stage.results = *results;
  return stage;
}

}  // namespace

std::string_view to_string(StageState state) {
  for (const auto& [each, name] : state_names)
    if (each == state) return name;
  return "";
}

bool PipelineRecord::finished() const {
  return std::ranges::all_of(stages, [](const StageRecord& stage) { return stage.state == StageState::done; });
}

Json to_json(const PipelineRecord& record) {
  Json stages = Json::array();
  for (const StageRecord& stage : record.stages)
    stages.push_back({{"name", stage.name},
                      {"state", to_string(stage.state)},
                      {"seconds", stage.seconds},
                      {"results", stage.results}});
  return {{"format", 1}, {"stages", stages}};
}

Result<PipelineRecord> record_from_json(const Json& json) {
  if (!json.is_object()) return damaged("no object");
  if (json.value("format", Json()) != 1) return damaged("its format is not 1");
  const auto stages = json.find("stages");
  if (stages == json.end() || !stages->is_array() || stages->empty() || stages->size() > 32)
    return damaged("it has no list of stages");
  PipelineRecord record;
  std::set<std::string> names;
  for (const Json& each : *stages) {
    KW_TRY(StageRecord stage, stage_from_json(each));
    if (!names.insert(stage.name).second) return damaged("a stage is there twice");
    record.stages.push_back(std::move(stage));
  }
  return record;
}

fs::path record_file(const fs::path& run_folder) { return run_folder / "pipeline.json"; }

Result<PipelineRecord> read_record(const fs::path& run_folder) {
  const fs::path file = record_file(run_folder);
  KW_TRY(const std::string text, read_file(file, max_record_bytes));
  const auto at_file = [&](Error error) {
    error.where.file = file.string();
    return error;
  };
  if (const auto bounded = parse_bounded_json(text); !bounded.ok()) return at_file(damaged(bounded.error().message));
  auto record = record_from_json(Json::parse(text, nullptr, false));  // in the order of the file
  if (!record.ok()) return at_file(record.error());
  return record;
}

Result<void> write_record(const fs::path& run_folder, const PipelineRecord& record) {
  return write_file_atomic(record_file(run_folder),
                           to_json(record).dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                           Durability::power_loss);
}

}  // namespace kw
