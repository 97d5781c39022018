#pragma once
// Shapes of reward: which terms, with which weights. A shape is a table, so that a run can change a weight and still
// say what it paid for. The published formulas (docs/reward.md) are the shapes without a role.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/agent_role.h"
#include "base/result.h"
#include "kernel/judge/baseline.h"

namespace kw {

enum class RewardTermKind : std::uint8_t {
  compile,            // it compiles: 0 or 1
  correct,            // right in every case: 0 or 1
  pass_rate,          // share of the cases that are right
  speed,              // speedup / target, or its logarithm; see SpeedScale
  improvement,        // log2(time of the kernel it got / its time) / log2(improvement_target)
  efficiency,         // memory efficiency x register efficiency
  quality,            // 1 less 0.25 for each kind of warning, times 1 - risk
  register_pressure,  // 0: modest; 1: all registers, or spills
  shared_over,        // shared memory beyond what a block gets without asking
  timeout,            // 0 or 1
  warp_shuffle,       // 0 or 1
  coalesced,          // 0 or 1
  occupancy,          // share of the warps that could be resident
  warp_efficiency,    // share of a warp's threads that are active
  bandwidth,          // share of what the DRAM sustains
  warnings,           // warnings of the compiler, four or more count 1
};
std::string_view to_string(RewardTermKind kind);
std::optional<RewardTermKind> reward_term_from_string(std::string_view text);

struct RewardTermSpec {
  RewardTermKind kind{};
  double weight = 0;   // negative: a penalty
  double most = 1;     // of the value before the weight
  double cap() const;  // |weight| x most: what the term can move the total by
};

enum class SpeedScale : std::uint8_t {
  linear,       // speedup / target
  logarithmic,  // log2(speedup) / log2(target): twice as fast is worth the same everywhere
};

struct RewardShape {
  std::string name;
  std::string formula;  // for people
  bool gate = true;     // 0 unless it compiles and is right in every case
  std::vector<RewardTermSpec> terms;
  SpeedScale speed_scale = SpeedScale::linear;
  Baseline baseline = Baseline::naive;
  double target_speedup = 2;      // over the baseline
  double improvement_target = 2;  // over the kernel that the Optimizer got: worth the whole term
  double repair = 0.5;            // improvement of a right kernel over one that was wrong

  void set_weight(RewardTermKind kind, double weight);  // adds the term if it is not there
};

// gated, weighted, final, hardware. Without a role the published weights; with one those of the role: the Generator is
// paid for compiling and being right, the Optimizer for improving what it got. The Tester is not trained.
std::vector<std::string> reward_shape_names();
Result<RewardShape> reward_shape(std::string_view name, std::optional<AgentRole> role = std::nullopt);

// Weights finite and at most 10, targets above 1.
Result<void> check_shape(const RewardShape& shape);

}  // namespace kw
