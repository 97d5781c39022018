#include "learn/rl/options.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr std::array<std::pair<Algorithm, std::string_view>, 5> algorithm_names{{
    {Algorithm::grpo, "grpo"},
    {Algorithm::dr_grpo, "dr_grpo"},
    {Algorithm::rloo, "rloo"},
    {Algorithm::dapo, "dapo"},
    {Algorithm::ppo, "ppo"},
}};
constexpr std::array<std::pair<CreditRule, std::string_view>, 3> credit_names{{
    {CreditRule::final_share, "final"},
    {CreditRule::later, "later"},
    {CreditRule::leave_one_out, "leave_one_out"},
}};

constexpr std::int64_t most_conversations = 1 << 16;  // of a step

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  for (const auto& [each, name] : algorithm_names)
    if (each == algorithm) return name;
  return "";
}

Result<Algorithm> algorithm_from(std::string_view name) {
  for (const auto& [each, known] : algorithm_names)
    if (known == name) return each;
  return Error{"there is no algorithm '" + std::string(name) + "'", "use grpo, dr_grpo, rloo, dapo or ppo", {}};
}

std::string_view to_string(CreditRule rule) {
  for (const auto& [each, name] : credit_names)
    if (each == rule) return name;
  return "";
}

Result<CreditRule> credit_rule_from(std::string_view name) {
  for (const auto& [each, known] : credit_names)
    if (known == name) return each;
  return Error{"there is no rule of credit '" + std::string(name) + "'", "use final, later or leave_one_out", {}};
}

ReinforceOptions reinforce_options(Algorithm algorithm) {
  ReinforceOptions options;
  options.algorithm = algorithm;
  if (algorithm == Algorithm::dapo) {
    options.update.clip.high = 0.28;
    options.refills = 2;
    options.credit.overlong_buffer = 64;
  }
  if (algorithm == Algorithm::dr_grpo) options.update.mean = LossMean::answers_token_sum;
  if (algorithm == Algorithm::ppo) {
    options.update.mini_batches = 4;
    options.critic_warm_up = 5;
  }
  return options;
}

Result<void> check_options(const ReinforceOptions& options) {
  KW_TRY_VOID(check_options(options.episode));
  const auto refuse = [](const char* what, const char* advice = "") { return Error{what, advice, {}}; };
  if ((options.steps > 0) == (options.minutes > 0)) return refuse("name either steps or minutes");
  if (options.tasks < 1 || options.group < 1 || options.tasks > most_conversations / options.group)
    return refuse("a step has 1 to 65536 conversations");
  if (options.algorithm != Algorithm::ppo && options.group < 2)
    return refuse("a group of one has nothing to be compared with", "--group 4 or more");
  if (options.algorithm == Algorithm::ppo && options.credit.rule == CreditRule::leave_one_out)
    return refuse("PPO compares with its critic, not with other conversations", "credit final or later");
  const EpisodeOptions& episode = options.episode;
  if (episode.samples != 1) return refuse("a turn that is learned from has one sample", "more of them: --group");
  if (!(episode.temperature > 0) || episode.top_k != 0 || episode.top_p != 1)
    return refuse("answers must be sampled from the policy itself", "temperature above 0, no top-k, no top-p");
  if (episode.most_resamples != 0)
    return refuse("an answer that is learned from is not sampled again",
                  "its log-probabilities would not be the policy's");
  if (options.update.temperature != episode.temperature)
    return refuse("log-probabilities would be taken at another temperature than the answers were sampled at");
  if (options.update.epochs < 1 || options.update.mini_batches < 1 || options.update.epochs > 100)
    return refuse("at least one epoch and one mini-batch");
  if (options.ahead < 0 || options.ahead > most_ahead)
    return Error{fmt::format("conversations are held 0 to {} steps ahead", most_ahead), "", {}};
  if (options.ahead > 0 && options.ranks != nullptr)
    return refuse("several ranks hold no conversations ahead: they talk to each other one step after the other",
                  "--ahead 0, or one process without ranks");
  if (options.refills < 0 || options.refills > 100) return refuse("0 to 100 refills");
  for (const double rate : {options.learning_rate, options.critic_learning_rate})
    if (!(rate > 0) || !std::isfinite(rate)) return refuse("a learning rate is above 0");
  if (!(options.kl.coefficient >= 0) || !(options.kl.target > 0) || !(options.kl.horizon > 0))
    return refuse("the coefficient of KL is not negative, its target and horizon are above 0");
  if (options.checkpoint_every < 1) return refuse("checkpoints come every 1 step or more");
  return {};
}

}  // namespace kw
