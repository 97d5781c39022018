#pragma once
// pipeline.json: how far a run is, stage by stage. Written at once with every change, so that a reader sees the state
// before or after it.

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

enum class StageState : std::uint8_t { waiting, running, interrupted, failed, done };
std::string_view to_string(StageState state);

struct StageRecord {
  std::string name;  // "data", "tokenizer", "sft", "compatibility", "rl", "evaluation", "report"
  StageState state = StageState::waiting;
  double seconds = 0;  // over all resumptions
  nlohmann::ordered_json results = nlohmann::ordered_json::object();
};

struct PipelineRecord {
  std::vector<StageRecord> stages;  // in their order

  bool finished() const;
};

nlohmann::ordered_json to_json(const PipelineRecord& record);
// Of anything: an error where it is none.
Result<PipelineRecord> record_from_json(const nlohmann::ordered_json& json);

std::filesystem::path record_file(const std::filesystem::path& run_folder);
Result<PipelineRecord> read_record(const std::filesystem::path& run_folder);
Result<void> write_record(const std::filesystem::path& run_folder, const PipelineRecord& record);

}  // namespace kw
