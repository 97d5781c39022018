#include "model/arithmetic/optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "model/arithmetic/kernels.h"

namespace kw {

void adamw(ThreadTeam& team, const AdamWStep& step, std::span<float> parameters, std::span<const float> gradients,
           std::span<float> first_moment, std::span<float> second_moment) {
  const auto size = static_cast<std::int64_t>(parameters.size());
  KW_CHECK(gradients.size() == parameters.size() && first_moment.size() == parameters.size() &&
           second_moment.size() == parameters.size());
  const auto exponent = static_cast<double>(step.step);
  const double bias1 = 1.0 - std::pow(static_cast<double>(step.beta1), exponent);
  const double bias2 = 1.0 - std::pow(static_cast<double>(step.beta2), exponent);
  const double rate = static_cast<double>(step.learning_rate);
  const AdamWNumbers numbers{
      .gradient_scale = step.gradient_scale,
      .decay = static_cast<float>(1.0 - rate * static_cast<double>(step.weight_decay)),
      .one_minus_beta1 = static_cast<float>(1.0 - static_cast<double>(step.beta1)),
      .beta2 = step.beta2,
      .one_minus_beta2 = static_cast<float>(1.0 - static_cast<double>(step.beta2)),
      .root_bias2 = static_cast<float>(std::sqrt(bias2)),
      .epsilon = step.epsilon,
      .minus_step_size = static_cast<float>(-rate / bias1),
  };
  constexpr std::int64_t chunk = 1 << 13;
  const std::int64_t chunks = (size + chunk - 1) / chunk;
  const Kernels& unit = kernels();
  const auto body = [&](std::int64_t i) {
    const std::int64_t first = i * chunk;
    unit.adamw(numbers, std::min(chunk, size - first), parameters.data() + first, gradients.data() + first,
               first_moment.data() + first, second_moment.data() + first);
  };
  team.run(chunks, std::ref(body));
}

}  // namespace kw
