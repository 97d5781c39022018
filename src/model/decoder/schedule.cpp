#include "model/decoder/schedule.h"

#include <algorithm>
#include <cmath>

namespace kw {

double learning_rate_at(const Schedule& schedule, std::int64_t step) {
  if (step < schedule.warm_up_steps) {
    return schedule.peak * static_cast<double>(step + 1) / static_cast<double>(schedule.warm_up_steps);
  }
  if (schedule.shape == ScheduleShape::constant) return schedule.peak;
  const double falling = static_cast<double>(std::max<std::int64_t>(1, schedule.all_steps - schedule.warm_up_steps));
  const double done = std::clamp(static_cast<double>(step - schedule.warm_up_steps) / falling, 0.0, 1.0);
  const double left = schedule.shape == ScheduleShape::linear ? 1 - done : 0.5 * (1 + std::cos(M_PI * done));
  return schedule.peak * (schedule.last_share + (1 - schedule.last_share) * left);
}

}  // namespace kw
