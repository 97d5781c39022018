#pragma once
// How a conversation goes on: pure functions of what has happened so far, so that one that was read from a store goes
// on exactly as one that never stopped.

#include <cstdint>
#include <optional>

#include "agents/episode/episode.h"
#include "agents/reward/reward.h"
#include "kernel/judge/baseline.h"

namespace kw {

// What the Optimizer is given while there is a choice. A kernel that is wrong is repaired either way: by `last` always,
// by `best` as long as none is right, and then the one that got furthest; of equals the newest.
enum class ContinueFrom : std::uint8_t { best, last };

struct EpisodeOptions {
  std::uint64_t seed = 0;
  int turns = 5;
  std::int64_t samples = 1;  // of each turn; the best one goes on
  float temperature = 1;     // 0: the likeliest token
  std::int32_t top_k = 0;
  float top_p = 1;
  std::int64_t answer_tokens = 1024;
  // Answers with a kernel are held to what is known beforehand: the launcher's parameters, allowed headers, brackets
  // that match, an end only behind a whole file (agent/answer_constraint.h).
  bool constrain = true;
  // How often an answer that is cut off in the middle is sampled again; not in training, where a log-probability has to
  // be the policy's.
  std::int64_t most_resamples = 0;
  ContinueFrom from = ContinueFrom::best;

  // It ends early when the best kernel has this speedup over the baseline, or a turn's kernel this reward.
  Baseline baseline = Baseline::naive;  // not library: where that is the baseline, it is the task's naive kernel
  std::optional<double> stop_speedup;
  std::optional<double> stop_reward;
  std::optional<double> asked_speedup;  // the target that prompts name; over naive, as agents have learned it

  // Budgets of an episode; 0: none. That of time makes a result depend on the machine.
  std::int64_t episode_tokens = 0;
  double episode_s = 0;

  RewardShape generator_reward;  // as reward_shape() makes them
  RewardShape optimizer_reward;

  AnswerLimits limits;
};

// With the rewards of one shape for both roles.
Result<EpisodeOptions> episode_options(std::string_view reward_shape_name = "weighted");
Result<void> check_options(const EpisodeOptions& options);

// Of the answers of a turn, sample s with sample_seed(turn_seed, s). The same (seed, episode, turn) gives the same.
std::uint64_t turn_seed(std::uint64_t seed, std::uint64_t episode, int turn);

// The question of the next turn; `asked` is the normal form of the episode's task. Views into both: they must outlive
// the request and not change meanwhile.
PromptRequest next_question(const Episode& episode, const Task& asked, const EpisodeOptions& options);
// Tokens that each answer of the next turn may have, by the budgets; 0: none are left.
std::int64_t tokens_left_for_answer(const Episode& episode, const EpisodeOptions& options);

// Why no turn comes after those that were taken; none: another one comes.
std::optional<EpisodeEnd> end_after(const Episode& episode, const EpisodeOptions& options);

// Reads what a model said: outcome, kernel, strategies.
void read_sample(TurnSample& sample, const Answer& answer);
// What a sample that is judged, or cannot be, is paid. `given`: the verdict of the kernel that the Optimizer was shown.
void pay_sample(TurnSample& sample, AgentRole role, const Verdict* given, const EpisodeOptions& options);
// The best one; of equals the first.
std::int64_t choose_sample(const Turn& turn);

// The verdict of the kernel that the conversation begins with.
void take_given(Episode& episode, std::shared_ptr<const Verdict> verdict);
// A turn whose samples are judged and paid: chooses one, and updates current, best and counts.
void take_turn(Episode& episode, Turn turn, const EpisodeOptions& options);

// Of everything that the result depends on, but the weights: the name under which a store keeps it.
std::string episode_identity(const EpisodeRequest& request, const EpisodeOptions& options, std::string_view model);

}  // namespace kw
