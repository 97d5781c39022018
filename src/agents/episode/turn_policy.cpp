#include "agents/episode/turn_policy.h"

#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/random.h"

namespace kw {
namespace {

// An answer that is cut shorter than this cannot be a kernel.
constexpr std::int64_t fewest_tokens = 16;
constexpr int most_turns = 100;
constexpr std::int64_t most_samples = 10'000;

KernelRank rank_of_sample(const TurnSample& sample) { return sample.verdict ? rank_of(*sample.verdict) : KernelRank{}; }

// Samples by what a conversation can do with them: judged kernels, then kernels, then the rest.
int usefulness(const TurnSample& sample) {
  if (sample.verdict && says_something(*sample.verdict)) return 2;
  return sample.kernel.empty() ? 0 : 1;
}

void update(Episode& episode, int turn, const Verdict& verdict, ContinueFrom from) {
  if (!says_something(verdict)) return;
  const KernelRank rank = rank_of(verdict);
  if (rank.right && (!episode.best || rank > rank_of(verdict_of(episode, *episode.best)))) episode.best = turn;
  if (from == ContinueFrom::last || !episode.current) {
    episode.current = turn;
  } else if (episode.best) {
    episode.current = episode.best;
  } else if (rank >= rank_of(verdict_of(episode, *episode.current))) {
    episode.current = turn;  // nearer to being right, or as near and newer
  }
}

void add_shape(Sha256& hash, const RewardShape& shape) {
  hash.add(fmt::format("{} {} {} {} {} {}", shape.name, shape.gate, static_cast<int>(shape.speed_scale),
                       shape.target_speedup, shape.improvement_target, shape.repair));
  for (const RewardTermSpec& term : shape.terms)
    hash.add(fmt::format("{} {} {}", to_string(term.kind), term.weight, term.most));
  if (shape.baseline != Baseline::naive) hash.add(name_of(shape.baseline));
}

std::string text_of(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : "none"; }

void add_sizes(Sha256& hash, const std::vector<Sizes>& list) {
  for (const Sizes& sizes : list) hash.add(to_string(sizes));
  hash.add("");
}

}  // namespace

Result<EpisodeOptions> episode_options(std::string_view reward_shape_name) {
  EpisodeOptions options;
  KW_TRY(options.generator_reward, reward_shape(reward_shape_name, AgentRole::generator));
  KW_TRY(options.optimizer_reward, reward_shape(reward_shape_name, AgentRole::optimizer));
  return options;
}

Result<void> check_options(const EpisodeOptions& options) {
  if (options.turns < 1 || options.turns > most_turns)
    return Error{fmt::format("a conversation has 1 to {} turns", most_turns), "", {}};
  if (options.samples < 1 || options.samples > most_samples)
    return Error{fmt::format("a turn has 1 to {} samples", most_samples), "", {}};
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature) || !(options.top_p > 0) || options.top_k < 0)
    return Error{"sampling needs temperature >= 0, top_p > 0 and top_k >= 0", "", {}};
  if (options.baseline == Baseline::library)
    return Error{"the library's kernel is compared with as the naive one of a task that has none",
                 "naive, given or pytorch",
                 {}};
  if (options.asked_speedup && options.baseline != Baseline::naive)
    return Error{"prompts name speedups over the naive kernel", "leave the target out of them", {}};
  if (options.answer_tokens < 1) return Error{"an answer needs at least one token", "", {}};
  if (options.episode_tokens < 0 || !(options.episode_s >= 0)) return Error{"a budget is negative", "0: none", {}};
  KW_TRY_VOID(check_shape(options.generator_reward));
  return check_shape(options.optimizer_reward);
}

std::uint64_t turn_seed(std::uint64_t seed, std::uint64_t episode, int turn) {
  return Random(Random(seed, episode).next(), static_cast<std::uint64_t>(turn)).next();
}

PromptRequest next_question(const Episode& episode, const Task& asked, const EpisodeOptions& options) {
  PromptRequest request;
  request.task = &asked;
  if (episode.request.to_predict) {
    request.role = AgentRole::tester;
    request.kernel = episode.request.kernel;
    return request;
  }
  request.target = options.asked_speedup;
  if (!episode.current) {
    request.role = AgentRole::generator;
    request.level = episode.request.level;
    return request;
  }
  request.role = AgentRole::optimizer;
  request.kernel = kernel_of(episode, *episode.current);
  request.verdict = &verdict_of(episode, *episode.current);
  request.tried = tried_before(episode);
  return request;
}

std::int64_t tokens_left_for_answer(const Episode& episode, const EpisodeOptions& options) {
  if (options.episode_tokens == 0) return options.answer_tokens;
  const std::int64_t each = (options.episode_tokens - episode.tokens) / options.samples;
  return each < std::min(fewest_tokens, options.answer_tokens) ? 0 : std::min(each, options.answer_tokens);
}

std::optional<EpisodeEnd> end_after(const Episode& episode, const EpisodeOptions& options) {
  if (episode.best && options.stop_speedup) {
    const RewardFacts best =
        facts_of(verdict_of(episode, *episode.best), {}, options.baseline, episode.given_verdict.get());
    if (best.speedup.value_or(0) >= *options.stop_speedup) return EpisodeEnd::target;
  }
  if (!episode.turns.empty() && options.stop_reward) {
    const TurnSample& last = chosen_sample(episode.turns.back());
    if (last.rewarded && last.reward >= *options.stop_reward) return EpisodeEnd::target;
  }
  if (static_cast<int>(episode.turns.size()) >= options.turns) return EpisodeEnd::turns;
  if (options.episode_s > 0 && episode.seconds >= options.episode_s) return EpisodeEnd::time;
  if (tokens_left_for_answer(episode, options) == 0) return EpisodeEnd::tokens;
  return std::nullopt;
}

void read_sample(TurnSample& sample, const Answer& answer) {
  sample.outcome = answer.outcome;
  sample.message = answer.message;
  sample.kernel = answer.kernel;
  sample.said = answer.said;
  sample.strategies = sample.kernel.empty() ? std::vector<Strategy>{} : strategies_of(sample.kernel);
}

void pay_sample(TurnSample& sample, AgentRole role, const Verdict* given, const EpisodeOptions& options) {
  sample.reward = 0;
  // What was cut off by a budget of time, or never came, says nothing about the agent.
  sample.rewarded =
      !sample.skipped && sample.finish != FinishReason::cancelled && sample.finish != FinishReason::failed;
  if (!sample.verdict) return;
  std::optional<GivenKernel> before;
  if (given != nullptr) before = given_kernel(*given);
  const RewardShape& shape = role == AgentRole::generator ? options.generator_reward : options.optimizer_reward;
  const RewardBreakdown reward = reward_of(*sample.verdict, shape, before, role);
  sample.reward = reward.total;
  sample.rewarded = sample.rewarded && reward.judged;
}

std::int64_t choose_sample(const Turn& turn) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < turn.samples.size(); ++i) {
    const TurnSample &a = turn.samples[i], &b = turn.samples[best];
    if (std::pair(usefulness(a), rank_of_sample(a)) > std::pair(usefulness(b), rank_of_sample(b))) best = i;
  }
  return static_cast<std::int64_t>(best);
}

void take_given(Episode& episode, std::shared_ptr<const Verdict> verdict) {
  KW_CHECK(verdict != nullptr && episode.turns.empty());
  episode.given_verdict = std::move(verdict);
  // There is nothing else to begin with, whatever the judge could say.
  episode.current = -1;
  if (rank_of(*episode.given_verdict).right) episode.best = -1;
}

void take_turn(Episode& episode, Turn turn, const EpisodeOptions& options) {
  KW_CHECK(turn.index == static_cast<int>(episode.turns.size()) && !turn.samples.empty());
  turn.chosen = choose_sample(turn);
  for (const TurnSample& sample : turn.samples) episode.tokens += token_count(sample.tokens, sample.usage);
  episode.seconds += turn.seconds;
  episode.turns.push_back(std::move(turn));
  const Turn& taken = episode.turns.back();
  if (const auto& verdict = chosen_sample(taken).verdict) update(episode, taken.index, *verdict, options.from);
}

std::string episode_identity(const EpisodeRequest& request, const EpisodeOptions& options, std::string_view model) {
  const Task& task = *request.task;
  Sha256 hash;
  hash.add("episode 1").add(model).add(request.level).add(request.kernel);
  hash.add(task.name).add(task.pytorch).add(task.launcher_declaration()).add(task.naive).add(task.summary);
  add_sizes(hash, task.sizes_small);
  add_sizes(hash, task.sizes_train);
  add_sizes(hash, task.sizes_holdout);
  hash.add(fmt::format("{} {} {} {} {} {} {} {} {}", options.seed, request.number, options.turns, options.samples,
                       options.temperature, options.top_k, options.top_p, options.answer_tokens,
                       static_cast<int>(options.from)));
  hash.add(text_of(options.stop_speedup)).add(text_of(options.stop_reward)).add(text_of(options.asked_speedup));
  hash.add(fmt::format("{} {}", options.episode_tokens, options.episode_s));
  hash.add(
      fmt::format("{} {} {}", options.limits.answer_bytes, options.limits.kernel_bytes, options.limits.said_bytes));
  add_shape(hash, options.generator_reward);
  add_shape(hash, options.optimizer_reward);
  if (options.baseline != Baseline::naive) hash.add(fmt::format("over {}", name_of(options.baseline)));
  if (options.constrain) hash.add(fmt::format("constrained {}", options.most_resamples));
  if (request.to_predict) hash.add("to predict");
  if (request.first_seed) hash.add(fmt::format("first seed {}", *request.first_seed));
  if (!request.name.empty()) hash.add("name").add(request.name);
  return hash.hex();
}

}  // namespace kw
