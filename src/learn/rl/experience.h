#pragma once
// Conversations become answers to learn from: the ids exactly as they were sampled, what each was paid, and how much
// better that is than the others' of its group. A group are the answers of one role to one task of a step: never across
// roles, never per turn index.
//
// Policies, stated once:
// - An answer that was cut at its longest length is read as far as it goes: without a whole kernel it is paid like any
//   answer without one. It is always learned from.
// - What the judge could not say anything about (rewarded == false) is left out; the other turns of its conversation
//   are not.
// - An answer alone in its group has nothing to be compared with and is left out.

#include <span>

#include "agents/agent/dialect.h"
#include "agents/episode/episode.h"
#include "learn/rl/options.h"
#include "model/rollout/constraint.h"

namespace kw {

struct ExperiencedAnswer {
  std::size_t episode = 0;  // of those that were handed in
  int turn = 0;
  std::int64_t group = 0;
  AgentRole role = AgentRole::generator;
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> tokens;
  std::vector<float> sampled_log_probs;
  std::string held_to;                                // as TurnSample has it
  std::shared_ptr<const Constraint> constraint = {};  // of an answer that was held to something
  std::vector<const TokenMask*> allowed = {};         // the constraint's, one for each token; empty: it was free
  double reward = 0;                                  // raw: what the verdict is worth
  double length_penalty = 0;
  double score = 0;      // credit and penalty: what is learned from
  double advantage = 0;  // algorithms with groups
  bool teaches = true;   // false: no part of the update
};

// `task_of`: for each episode the number of its task within the step. `weights_version`: all answers must be by these
// weights.
Result<std::vector<ExperiencedAnswer>> answers_of(const std::vector<Episode>& episodes,
                                                  std::span<const std::int64_t> task_of, const CreditOptions& credit,
                                                  std::int64_t answer_tokens, std::int64_t weights_version);

// Answers that were sampled among some tokens only are scored among the same ones.
Result<void> restore_constraints(std::vector<ExperiencedAnswer>& answers, const Dialect& dialect);

struct GroupCounts {
  std::int64_t groups = 0;
  std::int64_t without_contrast = 0;  // all scores equal, or a single answer
};

// Sets advantage and teaches. PPO: advantages are the critic's business, all answers teach.
GroupCounts set_advantages(std::vector<ExperiencedAnswer>& answers, Algorithm algorithm, CreditRule rule);

// DAPO: which of the step's tasks have an answer that teaches.
std::vector<std::int64_t> tasks_that_teach(const std::vector<ExperiencedAnswer>& answers,
                                           std::span<const std::int64_t> task_of);

}  // namespace kw
