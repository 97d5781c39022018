#pragma once
// What a request of the judge wants to be paid by: the member `reward`, read and bounded.

#include <optional>

#include "agents/reward/reward.h"
#include "app/serve/request_fields.h"

namespace kw {

struct RewardWish {
  RewardShape shape;
  std::optional<AgentRole> role;
  std::optional<GivenKernel> given;  // what the Optimizer was shown
};

// A name ("weighted"), or an object: shape, role, target, baseline, weights, gate, logarithmic, given (a verdict).
// None where there is no such member; problems are in `fields`.
std::optional<RewardWish> read_reward_wish(RequestFields& fields);

// An answer in which there is nothing to judge gets nothing, and that is to be learned from.
RewardBreakdown reward_without_kernel(const RewardWish& wish, const std::string& why);

}  // namespace kw
