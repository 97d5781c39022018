#include "learn/losses/advantage.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kw {
namespace {

struct GroupSummary {
  std::int64_t count = 0;
  double sum = 0;
  double squares = 0;  // of the distances from the mean
  double least = 0, most = 0;
  double mean() const { return sum / static_cast<double>(count); }
};

std::map<std::int64_t, GroupSummary> summaries(std::span<const double> scores, std::span<const std::int64_t> group) {
  std::map<std::int64_t, GroupSummary> found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    GroupSummary& summary = found[group[i]];
    summary.least = summary.count == 0 ? scores[i] : std::min(summary.least, scores[i]);
    summary.most = summary.count == 0 ? scores[i] : std::max(summary.most, scores[i]);
    summary.sum += scores[i];
    ++summary.count;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    GroupSummary& summary = found[group[i]];
    const double distance = scores[i] - summary.mean();
    summary.squares += distance * distance;
  }
  return found;
}

}  // namespace

TokenAdvantages generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                       std::span<const std::uint8_t> mask, Starts starts, double gamma, double lambda) {
  TokenAdvantages made;
  made.advantages.resize(rewards.size());
  made.returns.resize(rewards.size());
  for (std::size_t answer = 0; answer + 1 < starts.size(); ++answer) {
    double next_value = 0, last = 0;
    for (auto t = static_cast<std::size_t>(starts[answer + 1]); t-- > static_cast<std::size_t>(starts[answer]);) {
      if (mask[t] != 0) {
        const double error = rewards[t] + gamma * next_value - values[t];
        last = error + gamma * lambda * last;
        next_value = values[t];
      }
      made.advantages[t] = last;
      made.returns[t] = last + values[t];
    }
  }
  return made;
}

void whiten(std::span<double> values, std::span<const std::uint8_t> mask) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (mask[i] != 0) sum += values[i], ++count;
  if (count < 2) return;
  const double nearly_count = count + 1e-8;  // VERL's denominator of a mean; it shows where all values are equal
  const double mean = sum / nearly_count;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (mask[i] != 0) squares += (values[i] - mean) * (values[i] - mean);
  const double scale = 1 / std::sqrt(squares / nearly_count * count / (count - 1) + 1e-8);
  for (double& value : values) value = (value - mean) * scale;
}

std::vector<double> group_advantages(std::span<const double> scores, std::span<const std::int64_t> group,
                                     GroupBaseline baseline) {
  const auto found = summaries(scores, group);
  std::vector<double> made(scores.begin(), scores.end());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const GroupSummary& summary = found.at(group[i]);
    if (summary.count < 2) {
      if (baseline == GroupBaseline::grpo) made[i] /= 1 + 1e-6;
      continue;
    }
    const auto n = static_cast<double>(summary.count);
    made[i] -= summary.mean();
    if (baseline == GroupBaseline::grpo) made[i] /= std::sqrt(summary.squares / (n - 1)) + 1e-6;
    if (baseline == GroupBaseline::leave_one_out) made[i] *= n / (n - 1);
  }
  return made;
}

std::vector<std::uint8_t> groups_with_contrast(std::span<const double> scores, std::span<const std::int64_t> group) {
  const auto found = summaries(scores, group);
  std::vector<std::uint8_t> made(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) made[i] = found.at(group[i]).most > found.at(group[i]).least ? 1 : 0;
  return made;
}

double overlong_penalty(std::int64_t generated_tokens, std::int64_t most_tokens, std::int64_t buffer_tokens,
                        double penalty) {
  if (buffer_tokens <= 0) return generated_tokens > most_tokens ? -penalty : 0;
  const auto exceeded = static_cast<double>(generated_tokens - (most_tokens - buffer_tokens));
  return std::clamp(-exceeded / static_cast<double>(buffer_tokens) * penalty, -penalty, 0.0);
}

}  // namespace kw
