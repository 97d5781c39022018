#pragma once
// From a configuration to what each stage is asked for. This is the only place that knows the keys by name. A stage is
// a configuration whose other stages are switched off: what `train rl` is asked for, what the pipeline asks its third
// stage for and what config.json of the stage's folder says are the same thing.

#include <string_view>

#include "app/stages/evaluation_run.h"
#include "app/stages/gather_run.h"
#include "app/stages/reinforce_run.h"
#include "app/stages/supervised_run.h"
#include "base/config/setting_reader.h"
#include "learn/data/store.h"

namespace kw {

// Errors name the key. Folders to write to, and a run's name, are left to the caller.
Result<StoreOptions> store_options(SettingReader& settings);
Result<SftArguments> sft_arguments(SettingReader& settings);
Result<GatherArguments> gather_arguments(SettingReader& settings);
Result<RlArguments> rl_arguments(SettingReader& settings);
Result<EvaluateArguments> evaluation_arguments(SettingReader& settings);

// `stage`: sft, rl or evaluation. What is left is started by `train` as by the stage's own command.
Result<Configuration> stage_alone(Configuration configuration, std::string_view stage);
// Stage 1.5 is stage 1 again, with other steps and with the agents' own conversations among the lessons.
Result<Configuration> compatibility_as_sft(Configuration configuration);
// A shape (tiny-1m) as model.start is a model from nothing; paths become absolute, so that config.json means the same
// files from everywhere.
Result<void> settle(Configuration& configuration);

}  // namespace kw
