#pragma once
// Reinforcement learning on real verdicts: tasks, conversations, rewards, advantages, a step of the weights, again.
// Answers of a step are learned from before the next ones are sampled: nothing is off-policy, unless steps are held
// ahead (rollout_ahead.h). Stopped anywhere and resumed, it ends with the same bits as undisturbed (on the CPU);
// conversations that a killed step had are not held again.

#include <optional>

#include "base/run_log/checkpoints.h"
#include "learn/rl/rollout_ahead.h"
#include "learn/rl/step_metrics.h"

namespace kw {

struct HeldOutScore {
  double score = 0;  // the higher the better: which checkpoint is the best
  Metrics metrics;
  std::string line;  // for people
};

struct ReinforceProgress {
  std::int64_t step = 0;
  std::int64_t steps = 0;  // 0: not known, time decides
  AnswerRates rates;       // of this step
  double turns = 0;        // mean
  int tier = 0;
  double kl = 0, entropy = 0;
  double tokens_per_s = 0, kernels_per_s = 0;
  double seconds = 0;  // so far, exams not counted
  double left_s = 0;
};

struct ReinforceHooks {
  std::function<Result<HeldOutScore>(std::int64_t step)> evaluate;  // may be empty, like all of them
  std::function<void(std::int64_t step, const HeldOutScore&)> evaluated;
  std::function<void(const ReinforceProgress&)> progress;
  std::function<void(std::string_view)> notice;  // the guard's sentences
  // With steps ahead these two are called by another thread than the others.
  PayAnswer pay;
  EpisodeHooks episode;  // who wants to watch conversations
};

struct ReinforceModels {
  Learner& policy;
  Trainer* reference = nullptr;  // the policy as it started
  Trainer* critic = nullptr;
};

struct ReinforceSummary {
  ReinforceProgress last;
  std::optional<HeldOutScore> before, after;  // exams
  bool interrupted = false;
  std::string stopped;  // by the guard, and why; empty: it was not
};

// Goes on from the latest of `checkpoints`. The log must have been opened for that step.
Result<ReinforceSummary> reinforce(const ReinforceModels& models, Judge& judge, const TaskPool& pool,
                                   Curriculum curriculum, const ReinforceOptions& options, Checkpoints& checkpoints,
                                   RunLog& log, const ReinforceHooks& hooks);

}  // namespace kw
