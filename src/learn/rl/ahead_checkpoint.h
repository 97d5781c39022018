#pragma once
// What a checkpoint keeps of steps that are held ahead: the older weights by which the next ones are sampled. So a run
// that is resumed holds them again, or reads them from their stores, with the same bits.

#include "base/run_log/checkpoints.h"
#include "learn/rl/rollout_ahead.h"

namespace kw {

// A part of the checkpoint's facts, and its files.
nlohmann::ordered_json ahead_facts(const std::vector<std::shared_ptr<const StepWeights>>& older);
Result<void> save_ahead(const std::filesystem::path& folder,
                        const std::vector<std::shared_ptr<const StepWeights>>& older);

// Oldest first. None where the run held nothing ahead until now. `policy` says what the weights look like.
Result<std::vector<std::shared_ptr<const StepWeights>>> restore_ahead(const Checkpoint& checkpoint, Learner& policy);

}  // namespace kw
