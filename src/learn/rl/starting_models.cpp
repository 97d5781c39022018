#include "learn/rl/starting_models.h"

namespace kw {

Result<StartingModels> open_starting_models(const ModelFiles& files, LearnerOptions options, WantedModels wanted) {
  StartingModels models;
  KW_TRY(models.policy, Learner::from_files(files, options));
  options.beside_sampler = options.sampler;
  options.sampler = false;
  if (wanted.reference) {
    KW_TRY(models.reference, Learner::from_files(files, options));
  }
  if (wanted.critic) {
    options.value_head = true;
    KW_TRY(models.critic, Learner::from_files(files, options));
  }
  return models;
}

}  // namespace kw
