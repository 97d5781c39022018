#pragma once
// From a configuration to what each stage is asked for. This is the only place that knows the keys by name.

#include <filesystem>
#include <optional>
#include <string>

#include "app/pipeline/setting_reader.h"
#include "app/stages/evaluation_run.h"
#include "app/stages/gather_run.h"
#include "app/stages/reinforce_run.h"
#include "app/stages/supervised_run.h"
#include "learn/data/store.h"

namespace kw {

struct PipelinePlan {
  JudgeSessionOptions judge;
  std::optional<StoreOptions> data;             // none: no lesson needs judged kernels, or a store was given
  bool vocabulary = false;                      // to be made
  std::optional<SftArguments> sft;              // stage 1
  std::optional<GatherArguments> gather;        // stage 1.5: conversations,
  std::optional<SftArguments> compatibility;    // and training on them
  std::optional<RlArguments> rl;                // stage 2
  std::optional<EvaluateArguments> evaluation;  // without a model: of whom is the pipeline's business
  std::string start;                            // the agents that it starts from; empty: nothing
  std::string supervised;                       // the agents after the supervised stages; empty: there are none
  std::string last;                             // the agents that the run ends with
  bool report = true;
};

// `folder`: of the run. Errors name the key.
Result<PipelinePlan> pipeline_plan(SettingReader& settings, const std::filesystem::path& folder);

}  // namespace kw
