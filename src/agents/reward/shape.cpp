#include "agents/reward/shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace kw {
namespace {

using Kind = RewardTermKind;

constexpr std::array<std::pair<Kind, std::string_view>, 16> kind_names{{
    {Kind::compile, "compile"},
    {Kind::correct, "correct"},
    {Kind::pass_rate, "pass_rate"},
    {Kind::speed, "speed"},
    {Kind::improvement, "improvement"},
    {Kind::efficiency, "efficiency"},
    {Kind::quality, "quality"},
    {Kind::register_pressure, "register_pressure"},
    {Kind::shared_over, "shared_over"},
    {Kind::timeout, "timeout"},
    {Kind::warp_shuffle, "warp_shuffle"},
    {Kind::coalesced, "coalesced"},
    {Kind::occupancy, "occupancy"},
    {Kind::warp_efficiency, "warp_efficiency"},
    {Kind::bandwidth, "bandwidth"},
    {Kind::warnings, "warnings"},
}};

// seed document 000, "Gated Shaped Reward Structure".
RewardShape gated() {
  RewardShape shape;
  shape.name = "gated";
  shape.formula =
      "0 unless it compiles and passes, else 0.5 pass_rate + 0.4 speed - 0.05 register_pressure - 0.05 shared_over - "
      "0.1 timeout + 0.05 warp_shuffle + 0.05 coalesced";
  shape.terms = {{Kind::pass_rate, 0.5},     {Kind::speed, 0.4},    {Kind::register_pressure, -0.05},
                 {Kind::shared_over, -0.05}, {Kind::timeout, -0.1}, {Kind::warp_shuffle, 0.05},
                 {Kind::coalesced, 0.05}};
  return shape;
}

// seed document 004: 30, 30, 25, 10 and 5 %, and a bonus for improvement.
RewardShape weighted() {
  RewardShape shape;
  shape.name = "weighted";
  shape.formula =
      "0.30 compile + 0.30 correct + 0.25 speed + 0.10 efficiency + 0.05 quality, and a bonus of 0.1 improvement";
  shape.gate = false;
  shape.terms = {{Kind::compile, 0.30},    {Kind::correct, 0.30}, {Kind::speed, 0.25},
                 {Kind::efficiency, 0.10}, {Kind::quality, 0.05}, {Kind::improvement, 0.1}};
  return shape;
}

// seed document 003, calculate_final_reward, with the brackets that it means.
RewardShape final_reward() {
  RewardShape shape;
  shape.name = "final";
  shape.formula = "0.4 min(speedup / target, 2) + 0.3 correct + 0.2 efficiency + 0.1 compile";
  shape.gate = false;
  shape.terms = {{Kind::speed, 0.4, 2}, {Kind::correct, 0.3}, {Kind::efficiency, 0.2}, {Kind::compile, 0.1}};
  return shape;
}

// The gated shape with what hardware counters or the model say, and a penalty for the compiler's warnings.
RewardShape hardware() {
  RewardShape shape = gated();
  shape.name = "hardware";
  shape.formula = "gated + 0.05 occupancy + 0.05 warp_efficiency + 0.10 bandwidth - 0.1 warnings";
  shape.terms.insert(
      shape.terms.end(),
      {{Kind::occupancy, 0.05}, {Kind::warp_efficiency, 0.05}, {Kind::bandwidth, 0.10}, {Kind::warnings, -0.1}});
  return shape;
}

struct RoleWeight {
  std::string_view shape;
  AgentRole role;
  Kind kind;
  double weight;
};

// What a role changes. The sum of the positive weights stays near that of the published shape.
constexpr std::array role_weights{
    RoleWeight{"gated", AgentRole::generator, Kind::pass_rate, 0.7},
    RoleWeight{"gated", AgentRole::generator, Kind::speed, 0.2},
    RoleWeight{"gated", AgentRole::optimizer, Kind::pass_rate, 0.2},
    RoleWeight{"gated", AgentRole::optimizer, Kind::speed, 0.2},
    RoleWeight{"gated", AgentRole::optimizer, Kind::improvement, 0.5},
    RoleWeight{"weighted", AgentRole::generator, Kind::compile, 0.35},
    RoleWeight{"weighted", AgentRole::generator, Kind::correct, 0.45},
    RoleWeight{"weighted", AgentRole::generator, Kind::speed, 0.10},
    RoleWeight{"weighted", AgentRole::generator, Kind::efficiency, 0.05},
    RoleWeight{"weighted", AgentRole::generator, Kind::improvement, 0},
    RoleWeight{"weighted", AgentRole::optimizer, Kind::compile, 0.05},
    RoleWeight{"weighted", AgentRole::optimizer, Kind::correct, 0.20},
    RoleWeight{"weighted", AgentRole::optimizer, Kind::speed, 0.10},
    RoleWeight{"weighted", AgentRole::optimizer, Kind::improvement, 0.50},
    RoleWeight{"final", AgentRole::generator, Kind::speed, 0.15},
    RoleWeight{"final", AgentRole::generator, Kind::correct, 0.5},
    RoleWeight{"final", AgentRole::generator, Kind::compile, 0.25},
    RoleWeight{"final", AgentRole::generator, Kind::efficiency, 0.1},
    RoleWeight{"final", AgentRole::optimizer, Kind::speed, 0.2},
    RoleWeight{"final", AgentRole::optimizer, Kind::correct, 0.2},
    RoleWeight{"final", AgentRole::optimizer, Kind::compile, 0.05},
    RoleWeight{"final", AgentRole::optimizer, Kind::improvement, 0.5},
    RoleWeight{"hardware", AgentRole::generator, Kind::pass_rate, 0.7},
    RoleWeight{"hardware", AgentRole::generator, Kind::speed, 0.2},
    RoleWeight{"hardware", AgentRole::optimizer, Kind::pass_rate, 0.2},
    RoleWeight{"hardware", AgentRole::optimizer, Kind::speed, 0.2},
    RoleWeight{"hardware", AgentRole::optimizer, Kind::improvement, 0.5},
};

constexpr double largest_weight = 10;

}  // namespace

std::string_view to_string(RewardTermKind kind) {
  for (const auto& [each, name] : kind_names)
    if (each == kind) return name;
  return "";
}

std::optional<RewardTermKind> reward_term_from_string(std::string_view text) {
  for (const auto& [each, name] : kind_names)
    if (name == text) return each;
  return std::nullopt;
}

double RewardTermSpec::cap() const { return std::abs(weight) * most; }

void RewardShape::set_weight(RewardTermKind kind, double weight) {
  const auto found = std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.kind == kind; });
  if (found != terms.end()) {
    found->weight = weight;
  } else {
    terms.push_back({kind, weight});
  }
}

std::vector<std::string> reward_shape_names() { return {"gated", "weighted", "final", "hardware"}; }

Result<RewardShape> reward_shape(std::string_view name, std::optional<AgentRole> role) {
  RewardShape shape;
  for (RewardShape& known : std::array{gated(), weighted(), final_reward(), hardware()})
    if (known.name == name) shape = std::move(known);
  if (shape.name.empty())
    return Error{fmt::format("there is no reward shape '{}'", name), "known: gated, weighted, final, hardware", {}};
  if (!role) return shape;
  if (*role == AgentRole::tester) return Error{"the Tester follows rules and gets no reward", "", {}};
  for (const RoleWeight& own : role_weights)
    if (own.shape == name && own.role == *role) shape.set_weight(own.kind, own.weight);
  return shape;
}

Result<void> check_shape(const RewardShape& shape) {
  for (const RewardTermSpec& term : shape.terms) {
    if (!std::isfinite(term.weight) || std::abs(term.weight) > largest_weight)
      return Error{fmt::format("the weight of {} must be from -10 to 10", to_string(term.kind)), "", {}};
    if (!std::isfinite(term.most) || term.most <= 0 || term.most > largest_weight)
      return Error{fmt::format("the most that {} can be must be above 0 and at most 10", to_string(term.kind)), "", {}};
  }
  // A library's kernel is nobody's to give where rewards are paid.
  if (shape.baseline == Baseline::library)
    return Error{"rewards are not paid by the speedup over a library", "naive, given or pytorch", {}};
  const auto usable = [](double target) { return std::isfinite(target) && target > 1 && target <= 1e6; };
  if (!usable(shape.target_speedup)) return Error{"the target speedup must be above 1", "", {}};
  if (!usable(shape.improvement_target)) return Error{"the target of improvement must be above 1", "", {}};
  if (!(shape.repair >= 0 && shape.repair <= 1)) return Error{"the worth of a repair must be from 0 to 1", "", {}};
  return {};
}

}  // namespace kw
