#pragma once
// One run of reinforcement learning, from what a person asks for to a folder with checkpoints, metrics, conversations,
// exams and agents. It goes on where it was stopped. What it says to people goes to standard error.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/grammar/problem.h"
#include "base/config/configuration.h"
#include "kernel/judge/judge_session.h"
#include "learn/curriculum/curriculum.h"
#include "learn/rl/options.h"

namespace kw {

// Filled from a configuration by rl_arguments(); what is not a setting is the caller's business.
struct RlArguments {
  std::string out;
  std::string name;             // of the run; empty: the folder's
  Configuration configuration;  // of this stage alone: config.json of the run
  std::string model, method;
  bool quantised = false;     // the frozen base in NF4, on a GPU
  bool eight_bit = false;     // moments of adapters
  double gpu_memory_gib = 0;  // 0: no limit
  std::int64_t rank = 0;
  double alpha = 0;
  std::string algorithm, credit;
  std::string reward;
  std::vector<std::string> terms;  // TERM=WEIGHT
  std::string speed_scale, gate;
  double target_speedup = 0, improvement_target = 0, repair = 0;
  double stop_reward = 0;  // 0: never
  std::string kl_estimator;
  double kl_target = 0;  // 0: the weight is fixed
  std::size_t pool = 0;
  std::vector<Family> families;
  std::string curriculum;
  CurriculumRules rules;
  std::string device;
  int threads = 0;
  JudgeSessionOptions judge;
  std::size_t exam = 0;
  std::uint64_t exam_seed = 0;
  std::int64_t exam_samples = 0;
  double exam_temperature = 0;  // below 0: as training samples
  std::string optimizer;
  double beta1 = 0, beta2 = 0, weight_decay = 0;
  double clip_norm = 0;      // 0: never
  int keep_checkpoints = 0;  // and the best
  ReinforceOptions rl;       // what needs no translation; with `ranks`, all of them call train_rl()
};

// How it ended: {"out", "step", "reward", ..., "interrupted", "agents"}.
Result<nlohmann::ordered_json> train_rl(const RlArguments& arguments);

// What the arguments pay a role; without one, what a kernel is worth whoever wrote it.
Result<RewardShape> reward_shape_for(const RlArguments& arguments, std::optional<AgentRole> role);

}  // namespace kw
