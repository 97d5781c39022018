#pragma once
// One run of reinforcement learning, from what a person asks for to a folder with checkpoints, metrics, conversations,
// exams and agents. It goes on where it was stopped. What it says to people goes to standard error.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "learn/curriculum/curriculum.h"
#include "learn/rl/options.h"

namespace kw {

struct RlArguments {
  std::string out;
  std::string name;  // of the run; empty: the folder's
  std::string model = "tiny";
  std::string method = "auto";
  std::int64_t rank = 16;
  double alpha = 32;
  std::string algorithm = "grpo";
  std::string credit = "later";
  std::string reward = "weighted";
  std::vector<std::string> terms;  // TERM=WEIGHT
  std::string speed_scale = "log";
  double target_speedup = 8;
  double improvement_target = 0;  // over the kernel that the Optimizer got; 0: the shape's
  double repair = -1;             // below 0: the shape's
  std::string gate = "shape";     // always, never
  double stop_reward = 0;
  std::string kl_estimator = "k3";
  double kl_target = 0;
  double clip_low = 0.2, clip_high = 0;
  std::int64_t overlong_buffer = -1;
  int refills = -1, mini_batches = 0;
  std::int64_t critic_warm_up = -1;
  std::size_t pool = 2000;
  std::vector<std::string> families;
  std::string curriculum = "tiers";
  std::optional<CurriculumRules> rules;  // instead of the curriculum's own
  std::string device = "auto";
  std::string judge_on = "auto";
  std::string profile = "h200";
  bool cache = true;  // of verdicts and compiled kernels
  int threads = 0;
  std::size_t exam = 64;
  std::uint64_t exam_seed = 7001;
  std::int64_t exam_samples = 1;
  double exam_temperature = -1;  // below 0: as training samples
  std::string optimizer = "adamw";
  double beta1 = 0.9, beta2 = 0.95, weight_decay = 0;
  double clip_norm = 1;      // 0: never
  int keep_checkpoints = 2;  // and the best
  ReinforceOptions rl;       // what needs no translation
};

// How it ended: {"out", "step", "reward", ..., "interrupted", "agents"}.
Result<nlohmann::ordered_json> train_rl(const RlArguments& arguments);

// What the arguments pay a role; without one, what a kernel is worth whoever wrote it.
Result<RewardShape> reward_shape_for(const RlArguments& arguments, std::optional<AgentRole> role);

}  // namespace kw
