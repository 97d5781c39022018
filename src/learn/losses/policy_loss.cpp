#include "learn/losses/policy_loss.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

constexpr double most_log_ratio = 20;  // exp() of it is still finite in float32

}  // namespace

std::vector<double> token_weights(std::span<const std::uint8_t> mask, Starts starts, LossMean mean,
                                  std::int64_t all_tokens, std::int64_t all_answers) {
  std::vector<double> weights(mask.size(), 0);
  for (std::size_t answer = 0; answer + 1 < starts.size(); ++answer) {
    const auto first = static_cast<std::size_t>(starts[answer]), end = static_cast<std::size_t>(starts[answer + 1]);
    const auto own = static_cast<double>(std::count_if(mask.begin() + static_cast<std::ptrdiff_t>(first),
                                                       mask.begin() + static_cast<std::ptrdiff_t>(end),
                                                       [](std::uint8_t counts) { return counts != 0; }));
    double weight = 0;
    if (mean == LossMean::tokens) weight = 1 / static_cast<double>(std::max<std::int64_t>(all_tokens, 1));
    if (mean != LossMean::tokens) weight = 1 / static_cast<double>(std::max<std::int64_t>(all_answers, 1));
    if (mean == LossMean::answers_token_mean) weight /= std::max(own, 1.0);
    for (std::size_t i = first; i < end; ++i)
      if (mask[i] != 0) weights[i] = weight;
  }
  return weights;
}

PolicyLoss policy_loss(std::span<const float> log_prob, std::span<const float> old_log_prob,
                       std::span<const double> advantages, std::span<const std::uint8_t> mask,
                       std::span<const double> weights, const ClipOptions& clip, std::span<const double> importance) {
  PolicyLoss made;
  made.d_log_prob.assign(log_prob.size(), 0);
  double count = 0;
  for (std::size_t i = 0; i < log_prob.size(); ++i) {
    if (mask[i] == 0) continue;
    ++count;
    const double difference = static_cast<double>(log_prob[i]) - old_log_prob[i];
    const double kept = std::clamp(difference, -most_log_ratio, most_log_ratio);
    const double ratio = std::exp(kept), advantage = advantages[i];
    const double plain = -advantage * ratio;
    const double held = -advantage * std::clamp(ratio, 1 - clip.low, 1 + clip.high);
    double loss = std::max(plain, held);
    // Where the held one is larger the ratio is out of its range: it does not change with the log-probability.
    double slope = plain >= held && kept == difference ? plain : 0;
    made.clipped += held > plain;
    if (advantage < 0 && clip.dual > 0 && -advantage * clip.dual < loss) {
      loss = -advantage * clip.dual;
      slope = 0;
      ++made.clipped_dual;
    }
    const double weight = weights[i] * (importance.empty() ? 1 : importance[i]);
    made.loss += weight * loss;
    made.d_log_prob[i] = weight * slope;
    made.kl -= kept;
  }
  const double all = std::max(count, 1.0);
  made.clipped /= all;
  made.clipped_dual /= all;
  made.kl /= all;
  return made;
}

ValueLoss value_loss(std::span<const float> value, std::span<const float> old_value, std::span<const double> returns,
                     std::span<const std::uint8_t> mask, std::span<const double> weights, double clip) {
  ValueLoss made;
  made.d_value.assign(value.size(), 0);
  double count = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (mask[i] == 0) continue;
    ++count;
    const double now = value[i], before = old_value[i];
    const double held = std::clamp(now, before - clip, before + clip);
    const double plain_error = now - returns[i], held_error = held - returns[i];
    const bool is_clipped = held_error * held_error > plain_error * plain_error;
    made.clipped += is_clipped;
    made.loss += weights[i] * 0.5 * (is_clipped ? held_error * held_error : plain_error * plain_error);
    // A value out of its range that counts as the held one does not change it.
    made.d_value[i] = is_clipped ? (held == now ? weights[i] * held_error : 0) : weights[i] * plain_error;
  }
  made.clipped /= std::max(count, 1.0);
  return made;
}

std::vector<double> importance_weights(std::span<const float> trainer_log_prob, std::span<const float> sampler_log_prob,
                                       double most) {
  std::vector<double> made(trainer_log_prob.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double difference = static_cast<double>(trainer_log_prob[i]) - sampler_log_prob[i];
    made[i] = std::min(std::exp(std::clamp(difference, -most_log_ratio, most_log_ratio)), most);
  }
  return made;
}

}  // namespace kw
