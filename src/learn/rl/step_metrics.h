#pragma once
// What a step says of itself, under the names that people know from other trainers.

#include "base/run_log/run_log.h"
#include "learn/rl/policy_update.h"
#include "learn/rl/step_conversations.h"

namespace kw {

// Over the answers that could be judged.
struct AnswerRates {
  std::int64_t answers = 0;
  double reward = 0;        // raw, mean
  double compile_rate = 0;  // answers without a kernel count as not compiled
  double pass_rate = 0;     // right, and believed
  double unsupported = 0;   // could not be checked: not right
  double speedup_median = 0;
};
AnswerRates rates_of(const std::vector<Episode>& episodes);
AnswerRates rates_of(const std::vector<Episode>& episodes, AgentRole role);

struct StepFacts {
  const StepConversations& conversations;
  const UpdateReport& update;
  double waited_s = 0;  // for the conversations
  double update_s = 0;
  // Steps held ahead: how many the weights have made since they sampled.
  std::optional<std::int64_t> age = {};
  double kl_coefficient = 0;
  double rate_share = 1;  // the guard's
  int tier = 0;
  double peak_flops = 0;  // of the device that learns; 0: not known
};
Metrics step_metrics(const StepFacts& facts, const EpisodeOptions& options);

// Names of metrics that depend on the machine's speed or on what was stored before: not part of what is reproducible.
bool is_timing(std::string_view metric);

}  // namespace kw
