#pragma once
// Which part of a step decides how long it takes, and how far each part is from what the machine could do. Rollout and
// judge overlap, so what counts of a part is the time in which it alone was at work: that is what a faster one would
// save.

#include <cstdint>
#include <string>
#include <vector>

#include "base/machine_roof.h"
#include "learn/rl/policy_update.h"
#include "learn/rl/step_conversations.h"

namespace kw {

// What the decoder had to do at least for a step's answers.
struct RolloutWork {
  double flops = 0;
  double bytes = 0;          // weights once for each of its steps, keys and values once for each token that sees them
  double working_bytes = 0;  // of one of its steps: what fits into a cache is not read from memory again
};

struct DecoderBytes {
  double weights = 0;      // that a step reads
  double of_position = 0;  // keys and values of one position, all layers
};
RolloutWork rollout_work(const ModelDescription& model, const std::vector<ExperiencedAnswer>& answers,
                         std::int64_t decoder_steps, const DecoderBytes& decoder);

// Sums over one or more steps.
struct StepWork {
  double generating_s = 0, judging_s = 0, both_s = 0;  // `both_s` is part of either
  double conversations_s = 0;                          // wall clock of rollout and judge
  double update_s = 0;
  RolloutWork rollout;
  double update_flops = 0;
  std::int64_t judged = 0;         // kernels
  double judge_kernels_per_s = 0;  // of the same kernels, when nothing else is at work
};
void add_step(StepWork& work, const StepConversations& held, const RolloutWork& rollout, const UpdateReport& update,
              double update_s);

struct StepPart {
  std::string name;    // rollout, judge, update
  double seconds = 0;  // somebody was at it
  double alone_s = 0;  // and nobody at anything else
  double rate = 0, limit = 0;
  std::string unit;        // of both: "FLOP/s", "B/s", "kernels/s"
  std::string limited_by;  // what the limit is
  double share_of_limit() const { return limit > 0 ? rate / limit : 0; }
};

struct StepBound {
  std::vector<StepPart> parts;  // in the order of a step
  double step_s = 0;
  double both_s = 0;       // rollout and judge at once
  double other_s = 0;      // neither: prompts, stores, bookkeeping
  std::string bound;       // the name of a part, or "rollout and judge" where they share the time
  double bound_share = 0;  // of the step's time
};
StepBound bound_of(const StepWork& work, const MachineRoof& roof);

}  // namespace kw
