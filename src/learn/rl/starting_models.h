#pragma once
// What a run begins with: the policy, its frozen start and its critic, all three the supervised agents as they are.

#include "learn/learner/learner.h"

namespace kw {

struct StartingModels {
  std::unique_ptr<Learner> policy;
  // Where KL is measured from: the base *with* the adapters that supervised training made. Never the bare base, from
  // which the agents are far away before the first step.
  std::unique_ptr<Learner> reference;
  std::unique_ptr<Learner> critic;  // with a value head, weights of its own
};

struct WantedModels {
  bool reference = false;
  bool critic = false;
};

// `options` are the policy's, adapters' folders included.
Result<StartingModels> open_starting_models(const ModelFiles& files, LearnerOptions options, WantedModels wanted);

}  // namespace kw
