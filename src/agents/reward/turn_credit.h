#pragma once
// How the turns of an episode share its outcome. Three rules, all pure; which one a run uses is its own choice.

#include <cstdint>
#include <string>
#include <vector>

#include "agents/reward/shape.h"

namespace kw {

struct TurnReward {
  AgentRole role = AgentRole::generator;
  double reward = 0;  // of the kernel that this turn made; of a Tester's turn it is not looked at
};

// seed document 003, distribute_rewards_across_turns.
struct FinalCredit {
  double immediate = 0.3;
  double final_share = 0.7;
  double discount = 0.9;  // for each turn that comes after, the Tester's included
};

// immediate * reward + final_share * final_reward * discount^(turns left). A Tester's turn gets 0.
std::vector<double> credit_immediate_and_final(const std::vector<TurnReward>& turns, double final_reward,
                                               const FinalCredit& rule = {});

// sum over this and later turns of discount^(turns between) * reward (Kevin: Baronio et al. 2025, discount 0.4). The
// Tester's turns get 0 and do not count as turns between.
std::vector<double> credit_discounted_later(const std::vector<TurnReward>& turns, double discount = 0.4);

// A turn of one of several episodes.
struct SampledTurn {
  std::string task;
  AgentRole role = AgentRole::generator;
  std::int64_t sample = 0;  // which episode
  double value = 0;         // its credit by one of the rules above, or its reward
};

// value less the mean over the turns of the other episodes with the same task and role. Never across roles (their
// rewards are of different kinds), and never per turn index (when to stop is the policy's choice, so who has a third
// turn depends on what is being judged). With no other episode there is nothing to compare with: 0. A Tester's turn
// gets 0.
std::vector<double> advantage_leave_one_out(const std::vector<SampledTurn>& turns);

}  // namespace kw
