#include "kernel/performance/loop_cutting.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace kw {
namespace {

constexpr std::int64_t fewest_iterations = 8;
constexpr std::int64_t fewest_long_iterations = 3;  // when these alone are over the budget
constexpr std::int64_t late_factor = 8;             // budgets after which a warp (with nested loops) must hurry
constexpr std::int64_t cut_multiple = 8;            // iterations that share a sector come in powers of two
constexpr std::size_t places_looked_at = 3;         // the last one is the loop's last iteration
constexpr std::size_t places_of_long_ones = 2;
constexpr std::size_t places_integrated = 8;
// Than the iterations that were counted. One of the places is the last iteration, which often does less.
constexpr double cost_more = 1.15, cost_less = 0.65;

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
  uneven_ = false;
  warps_.assign(warps, {});
  for (WarpLoops& warp : warps_) {
    warp.loops.resize(code_->loops.size());
    warp.compares.resize(code_->compares.size());
  }
}

void LoopCutter::set_looking(WarpLoops& state, Activation& activation, bool looking) const {
  if (looking == activation.looking) return;
  activation.looking = looking;
  if (!budget_.integrate) state.unrecorded += looking ? 1 : -1;
}

void LoopCutter::leave(WarpLoops& state, Activation& activation) {
  if (!budget_.integrate && differ(activation.counted, activation.seen)) uneven_ = true;
  set_looking(state, activation, false);
  if (activation.weighted) state.weight /= activation.factor;
  activation = {};
}

// The places are the same for all warps of a block, which may meet at barriers in the loop.
void LoopCutter::choose_places(Activation& activation, std::int64_t cut_at, std::size_t loop) const {
  const std::int64_t iterations = budget_.integrate ? std::min(cut_at, cut_multiple) : 1;  // at each place
  const std::size_t places = budget_.integrate            ? places_integrated
                             : cut_at < fewest_iterations ? places_of_long_ones
                                                          : places_looked_at;
  const auto parts = static_cast<std::int64_t>(places);
  if (activation.skipped < 2 * parts * iterations) return;
  Random random(budget_.seed, loop);
  std::int64_t at = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t low = activation.skipped * part / parts, high = activation.skipped * (part + 1) / parts;
    const std::int64_t chosen = part + 1 == parts ? high - iterations : random.integer(low, high - iterations);
    activation.jumps.push_back(chosen - at);
    for (std::int64_t i = 1; i < iterations; ++i) activation.jumps.push_back(0);
    at = chosen + iterations;
  }
}

void LoopCutter::begin_cut(WarpLoops& state, Activation& activation, std::int64_t cut_at, std::int64_t left) {
  cut_any_ = true;
  activation.weighted = true;
  if (budget_.integrate && !activation.earlier.empty()) {
    activation.skipped = left;
    const auto loop = static_cast<std::size_t>(&activation - state.loops.data());
    choose_places(activation, cut_at, loop);
    if (!activation.jumps.empty()) {
      // What has been run so far counts as it is; each place stands for its part.
      activation.leave_at = cut_at;
      activation.factor = static_cast<double>(left) / static_cast<double>(activation.jumps.size());
      state.weight *= activation.factor;
      return;
    }
  }
  activation.factor = static_cast<double>(left) / static_cast<double>(cut_at);
  activation.leave_at = 2 * cut_at;
  activation.skipped = left - cut_at;
  state.weight *= activation.factor;
  if (!budget_.integrate) choose_places(activation, cut_at, static_cast<std::size_t>(&activation - state.loops.data()));
}

// At a branch: what the iteration before it has cost.
void LoopCutter::note_iteration(const WarpLoops& state, Activation& activation) {
  const double cost = (state.cost - activation.cost_before) / state.weight;
  activation.cost_before = state.cost;
  if (activation.looking)
    activation.seen.add(cost);
  else if (activation.weighted)
    activation.counted.add(cost);
}

// Iterations may take turns, so what the counted ones differ by among themselves is allowed for.
bool LoopCutter::differ(const Costs& counted, const Costs& seen) {
  if (counted.number == 0 || seen.number == 0) return false;
  const double mean = counted.sum / counted.number, there = seen.sum / seen.number;
  const double variance = std::max(counted.squares / counted.number - mean * mean, 0.0);
  const double noise = 2 * std::sqrt(variance / seen.number);
  return there > cost_more * mean + noise || there < cost_less * mean - noise;
}

void LoopCutter::read_integers(Warp& warp, const Loop& loop, std::vector<std::uint64_t>& values) {
  values.clear();
  for (const LoopRegister& integer : loop.integers)
    for (int lane = 0; lane < warp_lanes; ++lane)
      values.push_back(integer.wide ? warp.u64(integer.slot, lane) : warp.u32(integer.slot, lane));
}

// By how much each of them grew in the last two iterations, where that was the same.
void LoopCutter::find_steps(Warp& warp, const Loop& loop, Activation& activation) {
  if (activation.before.empty() || activation.earlier.empty()) return;
  activation.steps.assign(activation.before.size(), 0);
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
      if (step == step_before) activation.steps[at] = step;
    }
  }
}

void LoopCutter::advance_integers(Warp& warp, const Loop& loop, const Activation& activation, std::int64_t iterations) {
  if (activation.steps.empty()) return;
  std::size_t at = 0;
  for (const LoopRegister& integer : loop.integers) {
    for (int lane = 0; lane < warp_lanes; ++lane, ++at) {
      const std::uint64_t change = activation.steps[at] * static_cast<std::uint64_t>(iterations);
      if (integer.wide)
        warp.u64(integer.slot, lane) += change;
      else
        warp.u32(integer.slot, lane) += static_cast<std::uint32_t>(change);
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
    if (activation.iterations > 0) note_iteration(state, activation);
    leave(state, activation);
    for (std::uint32_t compare : loop.compares) state.compares[compare] = {};
    return active;
  }
  if (activation.iterations == 0) activation.executed_before = state.executed;
  ++activation.iterations;
  note_iteration(state, activation);
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
    if (left > cut_at) begin_cut(state, activation, cut_at, left);
  }
  const bool soon = activation.weighted ? activation.place == 0 && activation.iterations + 2 >= activation.leave_at
                                        : budget_.integrate && cut_at != 0 && activation.iterations + 2 >= cut_at &&
                                              activation.iterations < cut_at;
  if (soon) {
    if (activation.weighted && activation.iterations >= activation.leave_at) {
      find_steps(warp, loop, activation);
      if (!budget_.integrate || activation.jumps.empty()) {
        state.weight /= activation.factor;  // what follows is looked at, or left
        activation.factor = 1;
      }
    }
    std::swap(activation.earlier, activation.before);
    read_integers(warp, loop, activation.before);
  }
  if (activation.weighted && activation.iterations >= activation.leave_at) {
    if (activation.place < activation.jumps.size()) {
      advance_integers(warp, loop, activation, activation.jumps[activation.place++]);
      set_looking(state, activation, true);
      return active;
    }
    if (activation.jumps.empty()) advance_integers(warp, loop, activation, activation.skipped);
    leave(state, activation);
    if (loop.condition) return 0;
    for (std::uint32_t compare : loop.compares) state.compares[compare] = {};
    return active;
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
