#pragma once
// Training on the CPU: forward and backward by hand (cpu_pass.h, cpu_head.h), float32, AdamW or Muon. Results do not
// depend on the number of threads. After the largest batch was seen, a step allocates no large memory.

#include <memory>
#include <vector>

#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/decoder/training.h"

namespace kw {

// `seed` is for the value head's first weights. The team must outlive the trainer.
Result<std::unique_ptr<Trainer>> make_cpu_trainer(ThreadTeam& team, Parameters parameters,
                                                  std::vector<Adapter> adapters, const TrainingOptions& training,
                                                  const OptimizerOptions& optimizer, std::uint64_t seed = 0);

// On a frozen base that stays as the file has it, quantised blocks included. training.train_base must be false.
Result<std::unique_ptr<Trainer>> make_cpu_trainer(ThreadTeam& team, const ModelFiles& base,
                                                  std::vector<Adapter> adapters, const TrainingOptions& training,
                                                  const OptimizerOptions& optimizer, std::uint64_t seed = 0);

}  // namespace kw
