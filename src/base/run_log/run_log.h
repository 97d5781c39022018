#pragma once
// What a run says of itself while it goes: metrics by step, texts, its configuration and machine. Kept three times for
// three kinds of readers: the run store (SQLite, for `kernelwright runs`), TensorBoard's event files, and JSON lines.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw {

using Metrics = std::vector<std::pair<std::string, double>>;  // "train/loss"; not finite ones are kept as such

struct RunLogOptions {
  std::filesystem::path folder;  // of this run: <runs>/<name>; metrics.jsonl, events.out.tfevents..., config.json
  std::string name;              // unique in the store, <runs>/runs.db; parts may be joined by '/': "night/sft"
  std::string kind;              // "sft", "rl", "evaluate"
  nlohmann::ordered_json configuration;
  // Going on from a checkpoint: what was logged after this step is removed, so that a resumed run logs what an
  // undisturbed one does. -1: a new run; an error when the folder holds one already.
  std::int64_t resume_after_step = -1;
  // Going on from nothing, after a kill before the first checkpoint: what the folder's run has logged is removed.
  bool restart = false;
};

class RunLog {
 public:
  static Result<std::unique_ptr<RunLog>> open(const RunLogOptions& options);
  virtual ~RunLog() = default;
  virtual Result<void> metrics(std::int64_t step, const Metrics& metrics) = 0;
  virtual Result<void> text(std::int64_t step, std::string_view tag, std::string_view text) = 0;
  // All that was logged is on disk. To be called before a checkpoint is saved, so that the log never lacks what the
  // checkpoint is the result of.
  virtual Result<void> flush() = 0;
  // What the run learned about its own configuration: config.json, and what `runs show` says, are written again.
  virtual Result<void> set_configuration(const nlohmann::ordered_json& configuration) = 0;
  virtual Result<void> finish(std::string_view status, const nlohmann::ordered_json& summary) = 0;
};

// Whether a process has the run open; a run of status "running" that none has was killed.
bool is_being_written(const std::filesystem::path& run_folder);

// KERNELWRIGHT_RUNS, or `runs/` in the working folder.
std::filesystem::path runs_folder();

}  // namespace kw
