#pragma once
// Conversations of the agents about training tasks, into a store; what stage 1.5 learns from. It goes on where it was
// stopped.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "agents/grammar/problem.h"
#include "kernel/judge/judge_session.h"

namespace kw {

// Filled from a configuration by gather_arguments().
struct GatherArguments {
  std::string store;  // the caller's business
  std::string model;
  std::uint64_t tasks = 0, first = 0;
  std::vector<Family> families;  // of tasks; empty: all that training may see
  std::uint64_t seed = 0;
  int turns = 0;
  std::int64_t samples = 0;
  float temperature = 0;
  std::int64_t answer_tokens = 0;
  bool constrain = true;
  JudgeSessionOptions judge;
  std::string device;
  int threads = 0;
};

// {"store", "conversations", "answers", "worked", "interrupted"}
Result<nlohmann::ordered_json> gather(const GatherArguments& arguments);

}  // namespace kw
