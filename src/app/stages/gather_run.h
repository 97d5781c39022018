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

struct GatherArguments {
  std::string store;
  std::string model = "tiny";
  std::uint64_t tasks = 100;
  std::uint64_t first = 0;
  std::vector<Family> families;  // of tasks; empty: all that training may see
  std::uint64_t seed = 1;
  int turns = 2;
  std::int64_t samples = 4;
  float temperature = 1;
  std::int64_t answer_tokens = 1024;
  JudgeSessionOptions judge{.backend = "emulator", .profile = "h200", .purpose = JudgePurpose::training};
  std::string device = "auto";
  int threads = 0;
};

// {"store", "conversations", "answers", "worked", "interrupted"}
Result<nlohmann::ordered_json> gather(const GatherArguments& arguments);

}  // namespace kw
