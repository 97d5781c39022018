#pragma once
// Which cases a kernel is judged with: sizes, and the kind of inputs that each gets. What is drawn is drawn in secret.

#include <cstdint>
#include <vector>

#include "kernel/judge/input_kind.h"
#include "kernel/task/task.h"

namespace kw {

struct PlannedCase {
  Sizes sizes;
  bool hidden = false;    // a size that the task's file does not have
  bool optional = false;  // left out when it takes too long (allowed_work.h)
  InputKind kind = InputKind::ordinary;
};

// Those of one size stand together. Every declared small size gets ordinary inputs. Every kind that the task allows is
// tried at the largest declared small size (that is not too large), which has several blocks as a rule, so that what it
// finds does not depend on chance; half of the kinds, drawn, also at the next smaller one. Hidden sizes and shrunk or
// stretched train sizes are there for their size, so they get what hides no mistake in an index.
std::vector<PlannedCase> plan_cases(const Task& task, std::uint64_t sizes_seed, std::uint64_t kinds_seed);

}  // namespace kw
