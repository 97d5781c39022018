#pragma once
// Steps of the optimizer over flat parameters, on the CPU.

#include <cstdint>
#include <span>

#include "model/arithmetic/thread_team.h"

namespace kw {

struct AdamWStep {
  float learning_rate = 0;
  float beta1 = 0.9f, beta2 = 0.95f;
  float epsilon = 1e-8f;
  float weight_decay = 0;    // decoupled: p -= learning_rate * weight_decay * p
  std::int64_t step = 1;     // from 1, for the bias correction
  float gradient_scale = 1;  // the gradient is multiplied by it first: clipping, accumulation
};

// PyTorch's AdamW, element by element. All spans have the same length.
void adamw(ThreadTeam& team, const AdamWStep& step, std::span<float> parameters, std::span<const float> gradients,
           std::span<float> first_moment, std::span<float> second_moment);

}  // namespace kw
