#pragma once
// From a verdict to a reward, with the reasons. Plain functions: the same verdict and shape give the same number.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agents/reward/facts.h"
#include "agents/reward/shape.h"

namespace kw {

struct RewardTerm {
  RewardTermKind kind{};
  double value = 0;   // before the weight, from 0 to most
  double weight = 0;  // negative: a penalty
  double cap = 0;     // |points| never exceed it
  double points = 0;  // value x weight, what the total is made of; 0 when the gate is shut
  std::string why;    // one sentence
};

struct RewardBreakdown {
  std::string shape;
  std::optional<AgentRole> role;
  // False when the judge failed, not the kernel: such a sample must be left out of training instead of getting 0.
  bool judged = true;
  bool zeroed = false;   // by the gate or an exploit flag
  std::string decision;  // why it was zeroed, or how the total came about
  std::vector<RewardTerm> terms;
  double total = 0;
};

// The kernel that an Optimizer was given; none for a Generator's first kernel.
struct GivenKernel {
  bool correct = false;
  std::optional<double> time_us;
};
GivenKernel given_kernel(const Verdict& verdict);

// The shape must pass check_shape.
RewardBreakdown reward_of(const RewardFacts& facts, const RewardShape& shape,
                          const std::optional<GivenKernel>& given = std::nullopt,
                          std::optional<AgentRole> role = std::nullopt);
RewardBreakdown reward_of(const Verdict& verdict, const RewardShape& shape,
                          const std::optional<GivenKernel>& given = std::nullopt,
                          std::optional<AgentRole> role = std::nullopt);

std::string to_table(const RewardBreakdown& reward);
nlohmann::ordered_json to_json(const RewardBreakdown& reward);

}  // namespace kw
