#pragma once
// From a configuration to the stages of a run: which there are, what each starts from, and where it writes.

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "app/stages/stage_settings.h"

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

// `folder`: of the run. Errors name the key. `read`, unless it is null, gets the keys that were looked at.
Result<PipelinePlan> pipeline_plan(Configuration configuration, const std::filesystem::path& folder,
                                   std::set<std::string, std::less<>>* read = nullptr);

}  // namespace kw
