#pragma once
// Supervised training: lessons in, weights out. The loss is the mean negative log-probability of the answers' tokens;
// prompts are read, not learned. Stopped and resumed, it ends with the same bits as undisturbed. Ranks share a step by
// its slots: with the same slots, any number of them ends with the same bits.

#include <functional>
#include <optional>

#include "base/run_log/checkpoints.h"
#include "base/run_log/run_log.h"
#include "learn/lesson/lesson.h"
#include "model/decoder/schedule.h"
#include "model/decoder/training.h"
#include "model/distributed/communicator.h"

namespace kw {

struct SupervisedOptions {
  std::int64_t steps = 0;
  // Instead of steps: as many as fit into this time, evaluations not counted. Decided once, before the first step, from
  // the speed of a few that change nothing, and kept by checkpoints: given the same number of steps, a run ends with
  // the same bits.
  double minutes = 0;
  std::int64_t batch_tokens = 8192;  // of a step, about: whole lessons
  std::int64_t pass_tokens = 65536;  // of one forward and backward
  double peak_learning_rate = 2e-3;
  double warm_up_share = 0.02;  // of the steps
  double last_share = 0.02;     // of the peak, at the end
  ScheduleShape shape = ScheduleShape::cosine;
  int producers = 1;                  // threads that make lessons
  std::int64_t log_every = 20;        // steps
  double evaluations = 4;             // spread over the run, the last one at its end; 0: none
  std::int64_t checkpoint_every = 0;  // steps; 0: with the evaluations alone
  // For perf/mfu; without a peak it is not reported.
  const ModelDescription* model = nullptr;
  bool train_base = true;
  double peak_flops = 0;  // of the device
  // The trainer's. All ranks read all lessons and learn from those of their slots; rank 0 logs, evaluates and saves.
  Communicator* ranks = nullptr;
  // Parts of a step (model/distributed/slots.h), a power of two. 0: those that the run began with, or 8 with ranks and
  // 1 without.
  std::int64_t slots = 0;
};

struct Evaluation {
  double score = 0;  // the higher the better: which checkpoint is the best
  Metrics metrics;
  std::string line;  // for people
};

struct SupervisedProgress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double loss = 0;  // mean since the last time
  double learning_rate = 0;
  double gradient_norm = 0;
  std::int64_t tokens = 0;  // trained on so far, prompts included
  std::int64_t answer_tokens = 0;
  double tokens_per_s = 0;
  double seconds = 0;  // of training, evaluations not counted
};

struct SupervisedHooks {
  std::function<void(const Lesson&)> lesson;                      // each that is trained on; may be empty
  std::function<Result<Evaluation>(std::int64_t step)> evaluate;  // may be empty
  std::function<void(const SupervisedProgress&)> progress;        // may be empty
  std::function<void(std::int64_t step, const Evaluation&)> evaluated;
  std::function<Result<void>(std::int64_t steps)> decided;  // what minutes come to; may be empty
};

struct SupervisedSummary {
  SupervisedProgress last;
  std::optional<Evaluation> evaluation;  // the last one
  std::uint64_t lessons = 0;
  std::uint64_t too_long = 0;
  bool interrupted = false;
};

// adapter_of: which of the trainer's adapters a role has; -1 the base. Goes on from the latest of `checkpoints`. The
// log must have been opened for that step (resume_step).
Result<SupervisedSummary> train_supervised(Trainer& trainer, const LessonSource& lessons, const Dialect& dialect,
                                           const std::function<std::int32_t(AgentRole)>& adapter_of,
                                           const SupervisedOptions& options, Checkpoints& checkpoints, RunLog& log,
                                           const SupervisedHooks& hooks);

// Step that training would go on after; -1: from the beginning.
Result<std::int64_t> resume_step(const Checkpoints& checkpoints);

}  // namespace kw
