#include "learn/rl/step_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "agents/reward/facts.h"
#include "base/statistics.h"

namespace kw {
namespace {

double share(double part, double all) { return all > 0 ? part / all : 0; }

template <class Values>
void add_spread(Metrics& metrics, const std::string& name, const std::vector<ExperiencedAnswer>& answers,
                Values value_of) {
  if (answers.empty()) return;
  double sum = 0, least = value_of(answers.front()), most = least;
  std::vector<double> values;
  for (const ExperiencedAnswer& answer : answers) {
    values.push_back(value_of(answer));
    sum += value_of(answer);
    least = std::min(least, value_of(answer));
    most = std::max(most, value_of(answer));
  }
  metrics.emplace_back(name + "/mean", sum / static_cast<double>(answers.size()));
  metrics.emplace_back(name + "/max", most);
  metrics.emplace_back(name + "/min", least);
  metrics.emplace_back(name + "/std", standard_deviation(values));
}

void add_spread(Metrics& metrics, const std::string& name, const Spread& spread) {
  metrics.emplace_back(name + "/mean", spread.mean);
  metrics.emplace_back(name + "/max", spread.most);
  metrics.emplace_back(name + "/min", spread.least);
}

// Mean points of each term of the reward, an answer without a verdict has none.
void add_terms(Metrics& metrics, const std::vector<Episode>& episodes, const EpisodeOptions& options) {
  std::map<std::string, double> points;
  double answers = 0;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns)
      for (const TurnSample& sample : turn.samples) {
        if (!sample.rewarded) continue;
        ++answers;
        if (!sample.verdict) continue;
        const bool writes = turn.role == AgentRole::generator;
        std::optional<GivenKernel> given;
        if (!writes) given = given_kernel(verdict_of(episode, turn.given_turn));
        const RewardBreakdown reward =
            reward_of(*sample.verdict, writes ? options.generator_reward : options.optimizer_reward, given, turn.role);
        for (const RewardTerm& term : reward.terms) points[std::string(to_string(term.kind))] += term.points;
      }
  for (const auto& [term, sum] : points) metrics.emplace_back("reward/" + term, share(sum, answers));
}

AnswerRates rates_where(const std::vector<Episode>& episodes, const std::optional<AgentRole>& role) {
  AnswerRates rates;
  std::vector<double> speedups;
  double compiled = 0, right = 0, unsupported = 0, reward = 0;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns) {
      if (role && turn.role != *role) continue;
      for (const TurnSample& sample : turn.samples) {
        if (!sample.rewarded) continue;
        ++rates.answers;
        reward += sample.reward;
        if (!sample.verdict) continue;
        compiled += sample.verdict->compiled;
        unsupported += facts_of(*sample.verdict).status == VerdictStatus::unsupported;
        const KernelRank rank = rank_of(*sample.verdict);
        right += rank.right;
        if (rank.right && rank.speedup > 0) speedups.push_back(rank.speedup);
      }
    }
  const auto all = static_cast<double>(rates.answers);
  rates.reward = share(reward, all);
  rates.compile_rate = share(compiled, all);
  rates.pass_rate = share(right, all);
  rates.unsupported = share(unsupported, all);
  rates.speedup_median = speedups.empty() ? 0 : median(std::move(speedups));
  return rates;
}

void add_conversations(Metrics& metrics, const std::vector<Episode>& episodes) {
  double turns = 0, early = 0, right = 0, logs = 0, timed = 0, tokens = 0, longest = 0, cut = 0, answers = 0;
  for (const Episode& episode : episodes) {
    turns += static_cast<double>(episode.turns.size());
    early += episode.end == EpisodeEnd::target;
    if (episode.best) {
      ++right;
      const double speedup = rank_of(verdict_of(episode, *episode.best)).speedup;
      if (speedup > 0) logs += std::log(speedup), ++timed;
    }
    for (const Turn& turn : episode.turns)
      for (const TurnSample& sample : turn.samples) {
        ++answers;
        tokens += static_cast<double>(sample.tokens.size());
        longest = std::max(longest, static_cast<double>(sample.tokens.size()));
        cut += sample.finish == FinishReason::length || sample.finish == FinishReason::context;
      }
  }
  const auto all = static_cast<double>(episodes.size());
  metrics.insert(metrics.end(), {{"response_length/mean", share(tokens, answers)},
                                 {"response_length/max", longest},
                                 {"response_length/clip_ratio", share(cut, answers)},
                                 {"num_turns/mean", share(turns, all)},
                                 {"conversation/early_stop", share(early, all)},
                                 {"conversation/pass_rate", share(right, all)},
                                 {"conversation/speedup_gmean", timed > 0 ? std::exp(logs / timed) : 0}});
}

}  // namespace

AnswerRates rates_of(const std::vector<Episode>& episodes) { return rates_where(episodes, std::nullopt); }
AnswerRates rates_of(const std::vector<Episode>& episodes, AgentRole role) { return rates_where(episodes, role); }

Metrics step_metrics(const StepFacts& facts, const EpisodeOptions& options) {
  const StepConversations& held = facts.conversations;
  const UpdateReport& update = facts.update;
  Metrics metrics = {{"actor/loss", update.loss},
                     {"actor/pg_loss", update.policy_loss},
                     {"actor/pg_clipfrac", update.clipped},
                     {"actor/pg_clipfrac_lower", update.clipped_dual},
                     {"actor/ppo_kl", update.kl_old},
                     {"actor/entropy", update.entropy},
                     {"actor/grad_norm", update.gradient_norm},
                     {"actor/lr", update.learning_rate},
                     {"actor/skipped_steps", static_cast<double>(update.skipped_steps)},
                     {"actor/kl_coef", facts.kl_coefficient},
                     {"guard/lr_share", facts.rate_share},
                     {"mismatch_kl", update.mismatch_kl},
                     {"mismatch_max", update.mismatch_most},
                     {"importance/mean", update.importance}};
  if (update.kl_reference) metrics.emplace_back("actor/kl_loss", *update.kl_reference);
  // The raw reward beside what is learned from.
  add_spread(metrics, "critic/score", held.answers, [](const ExperiencedAnswer& answer) { return answer.reward; });
  add_spread(metrics, "critic/rewards", held.answers, [](const ExperiencedAnswer& answer) { return answer.score; });
  add_spread(metrics, "critic/advantages", update.advantages);
  if (update.critic_gradient_norm > 0) {
    add_spread(metrics, "critic/returns", update.returns);
    add_spread(metrics, "critic/values", update.values);
    metrics.emplace_back("critic/vf_loss", update.value_loss);
    metrics.emplace_back("critic/vf_clipfrac", update.value_clipped);
    metrics.emplace_back("critic/grad_norm", update.critic_gradient_norm);
  }
  add_terms(metrics, held.episodes, options);
  add_conversations(metrics, held.episodes);
  for (const AgentRole role : {AgentRole::generator, AgentRole::optimizer}) {
    const AnswerRates rates = rates_of(held.episodes, role);
    if (rates.answers == 0) continue;
    const std::string name = "role/" + std::string(to_string(role)) + "/";
    metrics.insert(metrics.end(), {{name + "reward", rates.reward},
                                   {name + "compile_rate", rates.compile_rate},
                                   {name + "pass_rate", rates.pass_rate},
                                   {name + "unsupported", rates.unsupported},
                                   {name + "speedup_median", rates.speedup_median}});
  }
  const AnswerRates all = rates_of(held.episodes);
  const double step_s = facts.waited_s + facts.update_s;
  metrics.insert(
      metrics.end(),
      {{"judge/answers", static_cast<double>(all.answers)},
       {"frac_reward_zero_std",
        share(static_cast<double>(held.groups.without_contrast), static_cast<double>(held.groups.groups))},
       {"dapo/refills", static_cast<double>(held.refills)},
       {"judge/compile_rate", all.compile_rate},
       {"judge/pass_rate", all.pass_rate},
       {"judge/unsupported", all.unsupported},
       {"judge/speedup_median", all.speedup_median},
       {"judge/cache_hit", share(static_cast<double>(held.kernels - held.judged), static_cast<double>(held.kernels))},
       {"judge/kernels_per_s", share(static_cast<double>(held.kernels), held.wall_s)},
       {"curriculum/tier", static_cast<double>(facts.tier)},
       {"perf/sampled_tokens_per_s", share(static_cast<double>(held.sampled_tokens), held.wall_s)},
       {"perf/trained_tokens_per_s", share(static_cast<double>(update.trained_tokens), facts.update_s)},
       {"perf/tokens_per_s", share(static_cast<double>(held.sampled_tokens + update.trained_tokens), step_s)},
       {"perf/mfu", share(update.flops, facts.update_s * facts.peak_flops)},
       {"timing_s/step", step_s},
       {"timing_s/rollout", held.wall_s},
       {"timing_s/generate", held.seconds.generating},
       {"timing_s/judge", held.seconds.judging},
       {"timing_s/judge_alone", held.seconds.judging - held.seconds.both},
       {"timing_s/update", facts.update_s}});
  if (facts.age) {
    metrics.insert(metrics.end(), {{"rollout/age", static_cast<double>(*facts.age)},
                                   {"importance/cut", update.importance_cut},
                                   {"importance/effective", update.importance_effective},
                                   {"timing_s/wait", facts.waited_s}});
  }
  return metrics;
}

bool is_timing(std::string_view metric) {
  return metric.starts_with("timing_s/") || metric.starts_with("perf/") || metric == "judge/cache_hit" ||
         metric == "judge/kernels_per_s";
}

}  // namespace kw
