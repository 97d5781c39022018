#pragma once
// Who takes a turn. Rewards, prompts, data and conversations all name it.

#include <cstdint>
#include <optional>
#include <string_view>

namespace kw {

enum class AgentRole : std::uint8_t {
  generator,  // task -> kernel
  optimizer,  // kernel and verdict -> faster, or right, kernel
  tester,     // kernel -> report; follows rules, is not trained by rewards
};

constexpr std::string_view to_string(AgentRole role) {
  switch (role) {
    case AgentRole::generator:
      return "generator";
    case AgentRole::optimizer:
      return "optimizer";
    case AgentRole::tester:
      return "tester";
  }
  return "";
}

constexpr std::optional<AgentRole> agent_role_from_string(std::string_view text) {
  for (const AgentRole role : {AgentRole::generator, AgentRole::optimizer, AgentRole::tester})
    if (text == to_string(role)) return role;
  return std::nullopt;
}

}  // namespace kw
