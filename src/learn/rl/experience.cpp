#include "learn/rl/experience.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr std::int64_t roles = 3;

// What the conversation's outcome is worth: its best kernel, or the one it would have gone on with.
double outcome_of(const Episode& episode, const RewardShape& shape) {
  const KernelTurn turn = episode.best ? episode.best : episode.current;
  return turn ? reward_of(verdict_of(episode, *turn), shape).total : 0;
}

std::vector<double> credit_of(const Episode& episode, const CreditOptions& options) {
  std::vector<TurnReward> rewards;
  for (const Turn& turn : episode.turns) rewards.push_back({turn.role, turn.samples.front().reward});
  if (options.rule == CreditRule::final_share)
    return credit_immediate_and_final(rewards, outcome_of(episode, options.outcome), options.final_share);
  return credit_discounted_later(rewards, options.discount);
}

Result<void> check_sample(const TurnSample& sample, std::int64_t weights_version) {
  if (sample.weights_version != weights_version || sample.last_weights_version != weights_version)
    return Error{fmt::format("an answer was sampled by the weights of version {} to {}, but those of version {} learn",
                             sample.weights_version, sample.last_weights_version, weights_version),
                 "",
                 {}};
  if (sample.tokens.size() != sample.log_probs.size())
    return Error{"an answer has not one log-probability for each token", "", {}};
  return {};
}

std::vector<double> leave_one_out(const std::vector<ExperiencedAnswer>& answers) {
  std::vector<SampledTurn> turns;
  for (const ExperiencedAnswer& answer : answers)
    turns.push_back(
        {std::to_string(answer.group), answer.role, static_cast<std::int64_t>(answer.episode), answer.score});
  return advantage_leave_one_out(turns);
}

}  // namespace

Result<std::vector<ExperiencedAnswer>> answers_of(const std::vector<Episode>& episodes,
                                                  std::span<const std::int64_t> task_of, const CreditOptions& credit,
                                                  std::int64_t answer_tokens, std::int64_t weights_version) {
  std::vector<ExperiencedAnswer> answers;
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const Episode& episode = episodes[i];
    const std::vector<double> credits = credit_of(episode, credit);
    for (const Turn& turn : episode.turns) {
      const TurnSample& sample = turn.samples.front();
      if (!sample.rewarded || sample.tokens.empty()) continue;
      KW_TRY_VOID(check_sample(sample, weights_version));
      ExperiencedAnswer& answer = answers.emplace_back();
      answer.episode = i;
      answer.turn = turn.index;
      answer.group = task_of[i] * roles + static_cast<std::int64_t>(turn.role);
      answer.role = turn.role;
      answer.prompt = turn.prompt;
      answer.tokens = sample.tokens;
      answer.sampled_log_probs = sample.log_probs;
      answer.held_to = sample.held_to;
      answer.reward = sample.reward;
      if (credit.overlong_buffer > 0)
        answer.length_penalty = overlong_penalty(static_cast<std::int64_t>(sample.tokens.size()), answer_tokens,
                                                 credit.overlong_buffer, credit.overlong_penalty);
      answer.score = credits[static_cast<std::size_t>(turn.index)] + answer.length_penalty;
    }
  }
  return answers;
}

Result<void> restore_constraints(std::vector<ExperiencedAnswer>& answers, const Dialect& dialect) {
  for (ExperiencedAnswer& answer : answers) {
    if (answer.held_to.empty()) continue;
    answer.constraint = make_answer_constraint(dialect.masks(), answer.held_to);
    if (answer.constraint == nullptr) return Error{"an answer was held to what its vocabulary cannot write", "", {}};
    answer.allowed = masks_of(*answer.constraint, answer.tokens);
  }
  return {};
}

GroupCounts set_advantages(std::vector<ExperiencedAnswer>& answers, Algorithm algorithm, CreditRule rule) {
  std::vector<double> scores;
  std::vector<std::int64_t> groups;
  std::map<std::int64_t, std::int64_t> sizes;
  for (const ExperiencedAnswer& answer : answers) {
    scores.push_back(answer.score);
    groups.push_back(answer.group);
    ++sizes[answer.group];
  }
  const std::vector<std::uint8_t> contrast = groups_with_contrast(scores, groups);
  GroupCounts counts;
  counts.groups = static_cast<std::int64_t>(sizes.size());
  std::set<std::int64_t> equal;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (contrast[i] == 0) equal.insert(answers[i].group);
  counts.without_contrast = static_cast<std::int64_t>(equal.size());
  if (algorithm == Algorithm::ppo) return counts;

  GroupBaseline baseline = GroupBaseline::grpo;
  if (algorithm == Algorithm::dr_grpo) baseline = GroupBaseline::dr_grpo;
  if (algorithm == Algorithm::rloo) baseline = GroupBaseline::leave_one_out;
  const std::vector<double> advantages =
      rule == CreditRule::leave_one_out ? leave_one_out(answers) : group_advantages(scores, groups, baseline);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ExperiencedAnswer& answer = answers[i];
    const bool alone = sizes.at(answer.group) < 2;
    answer.advantage = contrast[i] != 0 ? advantages[i] : 0;  // exactly, not up to the rounding of a mean
    answer.teaches = !alone && (algorithm != Algorithm::dapo || contrast[i] != 0);
  }
  return counts;
}

std::vector<std::int64_t> tasks_that_teach(const std::vector<ExperiencedAnswer>& answers,
                                           std::span<const std::int64_t> task_of) {
  std::set<std::int64_t> tasks;
  for (const ExperiencedAnswer& answer : answers)
    if (answer.teaches) tasks.insert(task_of[answer.episode]);
  return {tasks.begin(), tasks.end()};
}

}  // namespace kw
