#pragma once
// Learning rates over a run, as functions of the step alone: a resumed run needs no state of theirs.

#include <cstdint>

namespace kw {

enum class ScheduleShape { constant, linear, cosine };

struct Schedule {
  ScheduleShape shape = ScheduleShape::constant;
  double peak = 1e-3;
  std::int64_t warm_up_steps = 0;  // rises from peak / warm_up_steps to the peak
  std::int64_t all_steps = 0;      // falls to `last_share` of the peak at this step; constant: of no use
  double last_share = 0;
};

// step: 0 for the first.
double learning_rate_at(const Schedule& schedule, std::int64_t step);

}  // namespace kw
