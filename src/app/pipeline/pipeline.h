#pragma once
// From a configuration to trained agents and a report: data, vocabulary, supervised training, conversations of the
// agents' own, reinforcement learning, evaluation. Stages that are done are not done again, the one that was
// interrupted goes on where it was: the agents are, bit for bit, those of an undisturbed run (where steps are given;
// minutes depend on the machine).
//
//   RUN/config.json     the configuration
//   RUN/pipeline.json   how far it is
//   RUN/store/          judged kernels
//   RUN/sft/, compatibility/, rl/      as `train sft OUT` and `train rl OUT` leave their folders
//   RUN/evaluation/{start,sft,rl}.json as `evaluate --out` writes
//   RUN/report.html

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "app/pipeline/outcome.h"
#include "app/pipeline/pipeline_record.h"
#include "base/config/configuration.h"

namespace kw {

class Communicator;

// Of a run in this folder; none: nothing is there yet. An error when the folder holds something else.
Result<std::optional<Configuration>> run_configuration(const std::filesystem::path& folder);

struct PipelineOutcome {
  PipelineRecord record;
  std::vector<StageOutcomeRow> outcome;  // empty: not evaluated (yet)
  std::string agents;                    // what the run ends with
  bool interrupted = false;
};

struct PipelineHooks {
  std::function<void(std::string_view stage)> stage_begins;  // may be empty
  // Ranks that train together: all call run_pipeline(). Rank 0 does the rest alone, and its outcome counts.
  Communicator* ranks = nullptr;
};

// The configuration must be that of the run, where there is one in the folder: the error names what differs. What it
// says to people goes to standard error.
Result<PipelineOutcome> run_pipeline(const std::filesystem::path& folder, const Configuration& configuration,
                                     const PipelineHooks& hooks = {});

nlohmann::ordered_json to_json(const PipelineOutcome& outcome);

}  // namespace kw
