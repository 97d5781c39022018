#include "agents/episode/episode.h"

#include <array>

#include "agents/reward/facts.h"
#include "base/check.h"

namespace kw {
namespace {

constexpr std::array<std::pair<EpisodeEnd, std::string_view>, 8> end_names{{
    {EpisodeEnd::unfinished, "unfinished"},
    {EpisodeEnd::turns, "turns"},
    {EpisodeEnd::target, "target"},
    {EpisodeEnd::tokens, "tokens"},
    {EpisodeEnd::time, "time"},
    {EpisodeEnd::stuck, "stuck"},
    {EpisodeEnd::refused, "refused"},
    {EpisodeEnd::cancelled, "cancelled"},
}};

// Calls visit(turn, kernel, verdict) for each kernel that the conversation went on with.
template <class Visit>
void for_each_kernel(const Episode& episode, const Visit& visit) {
  if (episode.given_verdict) visit(-1, episode.request.kernel, *episode.given_verdict);
  for (const Turn& turn : episode.turns) {
    const TurnSample& sample = chosen_sample(turn);
    if (sample.verdict) visit(turn.index, sample.kernel, *sample.verdict);
  }
}

std::optional<double> speedup_of(const Verdict& verdict) {
  return verdict.correct ? verdict.speedup_naive : std::nullopt;
}

}  // namespace

std::string_view to_string(EpisodeEnd end) {
  for (const auto& [each, name] : end_names)
    if (each == end) return name;
  return "";
}

const TurnSample& chosen_sample(const Turn& turn) { return turn.samples.at(static_cast<std::size_t>(turn.chosen)); }

const std::string& kernel_of(const Episode& episode, int turn) {
  if (turn < 0) return episode.request.kernel;
  return chosen_sample(episode.turns.at(static_cast<std::size_t>(turn))).kernel;
}

const Verdict& verdict_of(const Episode& episode, int turn) {
  const auto& verdict =
      turn < 0 ? episode.given_verdict : chosen_sample(episode.turns.at(static_cast<std::size_t>(turn))).verdict;
  KW_CHECK(verdict != nullptr);
  return *verdict;
}

std::string_view name_of(KernelWriter writer) {
  switch (writer) {
    case KernelWriter::user:
      return "user";
    case KernelWriter::library:
      return "library";
    case KernelWriter::agent:
      return "agent";
  }
  return "";
}

Baseline naive_baseline(const Episode& episode) {
  return episode.naive_writer == KernelWriter::library ? Baseline::library : Baseline::naive;
}

KernelWriter writer_of(const Episode& episode, int turn) {
  return turn < 0 ? episode.request.kernel_writer : KernelWriter::agent;
}

std::string_view words_of_given(const Episode& episode) {
  return words_of(episode.request.kernel_writer == KernelWriter::library ? Baseline::library : Baseline::given);
}

KernelRank rank_of(const Verdict& verdict) {
  const RewardFacts facts = facts_of(verdict);
  KernelRank rank;
  rank.right = facts.correct && facts.exploit.empty();
  rank.compiled = facts.compiled;
  rank.pass_rate = facts.pass_rate;
  if (rank.right) rank.speedup = facts.speedup.value_or(0);
  if (rank.right && !facts.speedup && facts.time_us) rank.quickness = 1 / *facts.time_us;
  return rank;
}

bool says_something(const Verdict& verdict) {
  return verdict.status != VerdictStatus::internal_error && verdict.status != VerdictStatus::unsupported;
}

std::vector<TrajectoryPoint> trajectory_of(const Episode& episode) {
  std::vector<TrajectoryPoint> points;
  std::optional<double> best;
  for_each_kernel(episode, [&](int turn, const std::string&, const Verdict& verdict) {
    const KernelRank rank = rank_of(verdict);
    if (rank.right && rank.speedup > best.value_or(0)) best = rank.speedup;
    points.push_back({turn, verdict.status, verdict.compiled, speedup_of(verdict), best});
  });
  return points;
}

std::optional<Gain> gain_of(const Episode& episode) {
  if (!episode.best) return std::nullopt;
  const auto best_us = verdict_of(episode, *episode.best).time_us;
  std::optional<Gain> gain;
  for_each_kernel(episode, [&](int turn, const std::string&, const Verdict& verdict) {
    if (!gain && best_us && rank_of(verdict).right && verdict.time_us) gain = Gain{turn, *verdict.time_us / *best_us};
  });
  return gain;
}

std::vector<FailedAttempt> failed_attempts(const Episode& episode) {
  std::vector<FailedAttempt> failed;
  for (const Turn& turn : episode.turns) {
    for (std::size_t i = 0; i < turn.samples.size(); ++i) {
      const TurnSample& sample = turn.samples[i];
      if (sample.verdict && rank_of(*sample.verdict).right) continue;
      std::string why(sample.verdict   ? to_string(sample.verdict->status)
                      : sample.skipped ? std::string_view("skipped")
                                       : to_string(sample.outcome));
      if (sample.verdict && sample.verdict->correct) why = facts_of(*sample.verdict).exploit;
      failed.push_back({turn.index, static_cast<std::int64_t>(i), std::move(why), sample.strategies});
    }
  }
  return failed;
}

std::vector<TriedKernel> tried_before(const Episode& episode) {
  std::vector<TriedKernel> tried;
  for_each_kernel(episode, [&](int turn, const std::string& kernel, const Verdict& verdict) {
    if (episode.current == turn || !says_something(verdict)) return;
    tried.push_back({strategies_of(kernel), verdict.status, speedup_of(verdict)});
  });
  return tried;
}

}  // namespace kw
