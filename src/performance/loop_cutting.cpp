#include "performance/loop_cutting.h"

#include <algorithm>

namespace kw {
namespace {

constexpr std::int64_t fewest_iterations = 8;
constexpr std::int64_t fewest_long_iterations = 3;  // when these alone are over the budget
constexpr std::int64_t late_factor = 8;             // budgets after which a warp (with nested loops) must hurry
constexpr std::int64_t cut_multiple = 8;            // iterations that share a sector come in powers of two

std::int64_t lane_value(Warp& warp, Slot slot, bool wide, bool is_signed, int lane) {
  if (wide) return static_cast<std::int64_t>(warp.u64(slot, lane));
  const std::uint32_t bits = warp.u32(slot, lane);
  return is_signed ? static_cast<std::int32_t>(bits) : std::int64_t{bits};
}

// How often the loop goes on when `difference` = a - b grows by `step` each time; -1: it never ends, or at once.
std::int64_t trips(LoopCondition::Operator op, std::int64_t difference, std::int64_t step) {
  using Operator = LoopCondition::Operator;
  if (op == Operator::greater || op == Operator::greater_equal) {
    difference = -difference;
    step = -step;
    op = op == Operator::greater ? Operator::less : Operator::less_equal;
  }
  if (step == 0) return -1;
  if (op == Operator::not_equal) return difference % step == 0 && -difference / step >= 0 ? -difference / step : -1;
  if (step < 0 || difference > 0) return -1;
  if (op == Operator::less) return (-difference + step - 1) / step;
  return -difference / step + 1;
}

// After how many more steps the comparison has another result than now; -1: never.
std::int64_t flips_after(LoopCondition::Operator op, std::int64_t difference, std::int64_t step) {
  using Operator = LoopCondition::Operator;
  if (step == 0) return -1;
  if (op == Operator::equal || op == Operator::not_equal)
    return difference == 0 ? 1 : difference % step == 0 && -difference / step > 0 ? -difference / step : -1;
  // a <= b and a > b turn where a - 1 < b does.
  if (op == Operator::less_equal || op == Operator::greater) --difference;
  if (difference < 0 && step > 0) return (-difference + step - 1) / step;
  if (difference >= 0 && step < 0) return difference / -step + 1;
  return -1;
}

}  // namespace

void LoopCutter::begin_block(std::uint32_t warps, const LoopBudget& budget) {
  budget_ = budget;
  warps_.assign(warps, {});
  for (WarpLoops& warp : warps_) {
    warp.loops.resize(code_->loops.size());
    warp.compares.resize(code_->compares.size());
  }
}

void LoopCutter::leave(WarpLoops& state, Activation& activation) {
  if (activation.weighted) state.weight /= activation.factor;
  activation = {};
}

void LoopCutter::read_integers(Warp& warp, const Loop& loop, std::vector<std::uint64_t>& values) {
  values.clear();
  for (const LoopRegister& integer : loop.integers)
    for (int lane = 0; lane < warp_lanes; ++lane)
      values.push_back(integer.wide ? warp.u64(integer.slot, lane) : warp.u32(integer.slot, lane));
}

void LoopCutter::advance_integers(Warp& warp, const Loop& loop, const Activation& activation) {
  if (activation.before.empty() || activation.earlier.empty()) return;
  std::size_t at = 0;
  for (const LoopRegister& integer : loop.integers) {
    for (int lane = 0; lane < warp_lanes; ++lane, ++at) {
      const std::uint64_t now = integer.wide ? warp.u64(integer.slot, lane) : warp.u32(integer.slot, lane);
      std::uint64_t step = now - activation.before[at];
      std::uint64_t step_before = activation.before[at] - activation.earlier[at];
      if (!integer.wide) {
        step = static_cast<std::uint32_t>(step);
        step_before = static_cast<std::uint32_t>(step_before);
      }
      if (step == 0 || step != step_before) continue;
      const std::uint64_t end = now + step * static_cast<std::uint64_t>(activation.skipped);
      if (integer.wide)
        warp.u64(integer.slot, lane) = end;
      else
        warp.u32(integer.slot, lane) = static_cast<std::uint32_t>(end);
    }
  }
}

void LoopCutter::at_compare(Warp& warp, const StaticInstruction& compare, LaneMask active) {
  if (active == 0) return;
  const auto index = static_cast<std::size_t>(compare.compare);
  const LoopCondition& condition = code_->compares[index];
  Watched& watched = warps_[warp.index].compares[index];
  const int lane = __builtin_ctz(active);
  const std::int64_t difference = lane_value(warp, condition.a, condition.wide, condition.is_signed, lane) -
                                  lane_value(warp, condition.b, condition.wide, condition.is_signed, lane);
  const std::int64_t step = difference - watched.difference;
  watched.steady = watched.seen >= 2 && step == watched.step && step != 0;
  watched.step = step;
  watched.difference = difference;
  ++watched.seen;
}

// How often the loop goes on: for the lane that goes on longest; or until a comparison inside changes its result.
std::int64_t LoopCutter::remaining(Warp& warp, const Loop& loop, const Activation& activation, LaneMask active) const {
  std::int64_t result = -1;
  if (!loop.condition) {
    for (std::uint32_t index : loop.compares) {
      const Watched& watched = warps_[warp.index].compares[index];
      if (!watched.steady) continue;
      const std::int64_t flip = flips_after(code_->compares[index].op, watched.difference, watched.step);
      // The iteration in which it changes is run.
      if (flip > 0 && (result < 0 || flip - 1 < result)) result = flip - 1;
    }
    return result;
  }
  const LoopCondition& condition = *loop.condition;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const std::int64_t difference = lane_value(warp, condition.a, condition.wide, condition.is_signed, lane) -
                                    lane_value(warp, condition.b, condition.wide, condition.is_signed, lane);
    result = std::max(result, trips(condition.op, difference, activation.step));
  }
  return result;
}

LaneMask LoopCutter::at_branch(Warp& warp, const StaticInstruction& branch, LaneMask active) {
  const auto index = static_cast<std::size_t>(branch.loop);
  const Loop& loop = code_->loops[index];
  WarpLoops& state = warps_[warp.index];
  Activation& activation = state.loops[index];
  if (active == 0) {
    leave(state, activation);
    for (std::uint32_t compare : loop.compares) state.compares[compare] = {};
    return active;
  }
  if (activation.iterations == 0) activation.executed_before = state.executed;
  ++activation.iterations;
  const std::int64_t spent = state.executed - activation.executed_before;
  if (loop.condition) {
    const int lane = __builtin_ctz(active);
    const LoopCondition& condition = *loop.condition;
    const std::int64_t difference = lane_value(warp, condition.a, condition.wide, condition.is_signed, lane) -
                                    lane_value(warp, condition.b, condition.wide, condition.is_signed, lane);
    const std::int64_t step = difference - activation.last_difference;
    activation.steady = activation.iterations > 2 && step == activation.step && step != 0;
    activation.step = step;
    activation.last_difference = difference;
  } else {
    activation.steady = activation.iterations > 2 && remaining(warp, loop, activation, active) > 0;
  }
  std::int64_t& cut_at = cut_at_[index];
  if (cut_at == 0 && activation.steady) {
    const bool late = state.executed > late_factor * budget_.warp_instructions;
    const bool enough = activation.iterations >= fewest_iterations && spent > budget_.warp_instructions / 2;
    const bool must = activation.iterations >= fewest_long_iterations && (late || spent > budget_.warp_instructions);
    if (enough || must)
      cut_at = activation.iterations < cut_multiple
                   ? activation.iterations
                   : (activation.iterations + cut_multiple - 1) / cut_multiple * cut_multiple;
  }
  if (!activation.weighted && cut_at != 0 && activation.iterations == cut_at && activation.steady) {
    const std::int64_t left = remaining(warp, loop, activation, active);
    if (left > cut_at) {
      activation.weighted = true;
      activation.factor = static_cast<double>(left) / static_cast<double>(cut_at);
      activation.leave_at = 2 * cut_at;
      activation.skipped = left - cut_at;
      state.weight *= activation.factor;
      cut_any_ = true;
    }
  }
  if (activation.weighted && activation.iterations + 2 >= activation.leave_at) {
    if (activation.iterations >= activation.leave_at) {
      advance_integers(warp, loop, activation);
      leave(state, activation);
      if (loop.condition) return 0;
      for (std::uint32_t compare : loop.compares) state.compares[compare] = {};
      return active;
    }
    std::swap(activation.earlier, activation.before);
    read_integers(warp, loop, activation.before);
  }
  const bool can_fall_through = branch.instruction->guard != no_predicate;
  if (spent > budget_.hopeless_instructions && !activation.weighted && can_fall_through) {
    gave_up_ = true;
    leave(state, activation);
    return 0;
  }
  return active;
}

}  // namespace kw
