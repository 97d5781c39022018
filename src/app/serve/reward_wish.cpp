#include "app/serve/reward_wish.h"

#include <fmt/format.h>

#include "kernel/judge/verdict_file.h"

namespace kw {
namespace {

constexpr double largest_target = 1e6;

void read_weights(RequestFields& fields, const nlohmann::json& weights, RewardShape& shape) {
  if (weights.is_null()) return;
  if (!weights.is_object()) return fields.refuse("reward", "has weights that are no object of terms and numbers");
  for (const auto& [name, weight] : weights.items()) {
    const auto kind = reward_term_from_string(name);
    if (!kind || !weight.is_number())
      return fields.refuse("reward", fmt::format("has a weight of '{}', which is no term with a number", name));
    shape.set_weight(*kind, weight.get<double>());
  }
}

void read_given(RequestFields& fields, const nlohmann::json& given, RewardWish& wish) {
  if (given.is_null()) return;
  const auto verdict = read_verdict_text(given.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (!verdict.ok())
    return fields.refuse("reward", "has a given kernel's verdict that is none: " + verdict.error().message);
  wish.given = given_kernel(*verdict);
}

void read_shape(RequestFields& fields, RequestFields& members, RewardWish& wish) {
  const std::string role = members.text("role", "", 100);
  if (!role.empty()) {
    wish.role = agent_role_from_string(role);
    if (!wish.role || *wish.role == AgentRole::tester)
      return fields.refuse("reward", "has a role that is neither generator nor optimizer");
  }
  auto shape = reward_shape(members.text("shape", "gated", 100), wish.role);
  if (!shape.ok()) return fields.refuse("reward", "has a problem: " + to_string(shape.error()));
  wish.shape = std::move(shape).value();
  wish.shape.gate = members.flag("gate", wish.shape.gate);
  if (members.flag("logarithmic", false)) wish.shape.speed_scale = SpeedScale::logarithmic;
  wish.shape.target_speedup = members.number("target", wish.shape.target_speedup, 1, largest_target);
  const auto baseline = baseline_from_name(members.text("baseline", std::string(name_of(Baseline::naive)), 100));
  if (!baseline || *baseline == Baseline::library)
    return fields.refuse("reward", "has a baseline that is none of naive, given and pytorch");
  wish.shape.baseline = *baseline;
}

}  // namespace

std::optional<RewardWish> read_reward_wish(RequestFields& fields) {
  const nlohmann::json& wanted = fields.value("reward");
  if (wanted.is_null()) return std::nullopt;
  if (!wanted.is_string() && !wanted.is_object()) {
    fields.refuse("reward", "must be the name of a shape, or an object with one");
    return std::nullopt;
  }
  RequestFields members(wanted.is_string() ? nlohmann::json{{"shape", wanted}} : wanted);
  RewardWish wish;
  read_shape(fields, members, wish);
  read_weights(fields, members.value("weights"), wish.shape);
  read_given(fields, members.value("given"), wish);
  if (members.problem()) fields.refuse("reward", "is wrong: " + members.problem()->body);
  if (fields.problem()) return std::nullopt;
  if (const auto good = check_shape(wish.shape); !good.ok())
    fields.refuse("reward", "has a problem: " + to_string(good.error()));
  return wish;
}

RewardBreakdown reward_without_kernel(const RewardWish& wish, const std::string& why) {
  RewardBreakdown reward;
  reward.shape = wish.shape.name;
  reward.role = wish.role;
  reward.zeroed = true;
  reward.decision = "there is nothing to judge: " + why;
  return reward;
}

}  // namespace kw
