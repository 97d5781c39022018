#pragma once
// Losses of a policy step as pure functions: from log-probabilities to a number, and to how that number changes with
// each of them, which is what Trainer::backward() wants. Definitions are VERL's (verl/trainer/ppo/core_algos.py).

#include <cstdint>
#include <span>
#include <vector>

#include "learn/losses/advantage.h"

namespace kw {

// Every token of an answer is worth the same / every answer is worth the same.
enum class LossMean { tokens, answers_token_sum, answers_token_mean };

// Weight of each token in the loss, so that loss = sum of weight * token loss. Counts are those of the whole step,
// over all micro-batches and ranks, never of one micro-batch.
std::vector<double> token_weights(std::span<const std::uint8_t> mask, Starts starts, LossMean mean,
                                  std::int64_t all_tokens, std::int64_t all_answers);

struct ClipOptions {
  double low = 0.2, high = 0.2;  // DAPO: 0.2 and 0.28
  double dual = 3;               // for negative advantages the loss is at most dual * |advantage|, arXiv 1912.09729
};

struct PolicyLoss {
  double loss = 0;
  std::vector<double> d_log_prob;
  // Over the tokens that count, each alike.
  double clipped = 0;       // share whose ratio left the range on the side that matters
  double clipped_dual = 0;  // share that the dual clip held
  double kl = 0;            // mean of old - new log-probability
};

// Proximal policy optimisation with clipping (arXiv 1707.06347). `importance` (may be empty) multiplies each token's
// loss: sampler and trainer may differ a little.
PolicyLoss policy_loss(std::span<const float> log_prob, std::span<const float> old_log_prob,
                       std::span<const double> advantages, std::span<const std::uint8_t> mask,
                       std::span<const double> weights, const ClipOptions& clip,
                       std::span<const double> importance = {});

struct ValueLoss {
  double loss = 0;
  std::vector<double> d_value;
  double clipped = 0;
};

// Half the squared error, the worse of the plain value and the one kept within `clip` of the old.
ValueLoss value_loss(std::span<const float> value, std::span<const float> old_value, std::span<const double> returns,
                     std::span<const std::uint8_t> mask, std::span<const double> weights, double clip = 0.5);

// Truncated importance weights: exp(trainer - sampler), at most `most`.
std::vector<double> importance_weights(std::span<const float> trainer_log_prob, std::span<const float> sampler_log_prob,
                                       double most = 2);

}  // namespace kw
