#pragma once
// What a training run left in its folder, read for a report. Any part may be missing, half written or somebody's
// invention: what can be read is taken, what cannot is named.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/evaluate/evaluation.h"
#include "base/run_log/run_store.h"

namespace kw {

struct RecordedExam {
  std::int64_t step = 0;
  ModelEvaluation evaluation;
};

// What `train sft` or `train rl` leaves behind.
struct StageParts {
  std::string name;  // "sft", "compatibility", "rl"; empty: the folder is this stage
  std::filesystem::path folder;
  nlohmann::ordered_json configuration, machine, summary;  // null: not there
  std::map<std::string, MetricSeries> metrics;
  std::vector<RecordedExam> exams;                   // by step
  std::vector<std::filesystem::path> papers;         // of supervised training's exams: lines of JSON; by step
  std::vector<std::filesystem::path> conversations;  // stores, by step

  const MetricSeries* metric(const std::string& metric_name) const;
  bool reinforces() const { return metric("critic/score/mean") != nullptr; }
  bool supervised() const { return metric("sft/loss") != nullptr; }
};

struct NamedEvaluation {
  std::string name;  // "before", "after SFT", "after RL"
  ModelEvaluation evaluation;
};

struct TimedStage {
  std::string name;
  std::string state;
  double seconds = 0;
};

struct RunParts {
  std::string name;
  nlohmann::ordered_json configuration, machine;
  std::vector<StageParts> stages;            // in the order in which they ran
  std::vector<NamedEvaluation> evaluations;  // in the order in which they were made; all of the same tasks
  std::vector<TimedStage> timed;             // of a pipeline
  std::vector<std::string> missing;          // what could not be read, and why, for people

  const StageParts* reinforcement() const;  // null: there was none
};

// An error only where nothing in the folder comes from a run.
Result<RunParts> read_run_parts(const std::filesystem::path& folder);

}  // namespace kw
