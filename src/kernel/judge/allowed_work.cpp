#include "kernel/judge/allowed_work.h"

#include <algorithm>

namespace kw {
namespace {

// With a naive kernel: far more than any honest kernel needs.
constexpr std::int64_t least_budget = 12'000'000;
constexpr std::int64_t budget_factor = 64;        // a kernel of one thread has 32 times the warp instructions
constexpr std::uint64_t optional_work = 300'000;  // naive warp instructions from which a case is not worth its time
// Stretched sizes may be unkind to an honest kernel (an array of bins for each thread); so this is not held against it.
constexpr std::int64_t optional_budget = 5'000'000;
// Without one the sizes must do. A step of the deepest loop nest that they suggest (all sizes, and the longest once
// more, as attention has it) may take two warp instructions: 64 for each thread of a full warp.
constexpr double unknown_budget = 20'000'000;
constexpr double unknown_budget_most = 100'000'000;
constexpr double budget_for_a_step = 2;
// A made-up size is about as large as a declared one, and a kernel may take somewhat longer for it. Who has ended in
// time at all declared sizes must not fail for the size that chance gave him.
constexpr std::int64_t made_up_factor = 4;

double loop_steps(const Task& task, const Sizes& sizes) {
  double steps = 1, longest = 1;
  for (const auto& [name, value] : sizes) {
    steps *= static_cast<double>(value);
    longest = std::max(longest, static_cast<double>(value));
  }
  // Windows and the like: numbers in shapes.
  double fixed = 1;
  for (const TensorSpec& input : task.inputs) {
    double numbers = 1;
    for (const Expression& extent : input.shape)
      if (const auto value = extent.evaluate({}); extent.names().empty() && value.ok())
        numbers *= static_cast<double>(*value);
    fixed = std::max(fixed, numbers);
  }
  return steps * longest * fixed;
}

}  // namespace

AllowedWork allowed_work(const Task& task, const Case& one, std::optional<std::uint64_t> naive, bool waits) {
  AllowedWork allowed;
  const double suggested = unknown_budget + budget_for_a_step * loop_steps(task, one.sizes);
  const auto unknown = static_cast<std::int64_t>(std::min(suggested, unknown_budget_most));
  allowed.warp_instructions = unknown * (one.hidden ? made_up_factor : 1);
  allowed.beyond_us = !naive && suggested > unknown_budget_most;
  const std::int64_t least = one.optional ? optional_budget : least_budget;
  if (naive && !waits) {
    allowed.warp_instructions = least + budget_factor * static_cast<std::int64_t>(*naive);
  } else if (one.optional) {
    allowed.warp_instructions = optional_budget;
  }
  allowed.left_out = one.optional && naive && *naive > optional_work;
  allowed.may_give_up = one.optional;
  return allowed;
}

}  // namespace kw
