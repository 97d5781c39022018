#pragma once
// The judge for commands that ask it about many kernels: on a GPU where one is wanted and there, else in the emulator.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "compile/service.h"
#include "judge/gpu_backend.h"
#include "judge/judge.h"

namespace kw::cli {

struct JudgeChoice {
  std::string backend = "auto";  // auto, emulator, gpu
  std::string profile;           // empty: the GPU's own, or h200
  int workers = 0;               // 0: one for each core
  bool cache = true;
};

// --backend, --profile, --judge-workers, --no-cache
void add_judge_options(CLI::App& command, JudgeChoice& choice);

struct OpenJudge {
  std::unique_ptr<CompileService> service;
  std::unique_ptr<GpuBackend> gpu;  // null: the emulator
  std::unique_ptr<Judge> judge;     // uses both

  std::string name() const;  // "emulator, h200"
};
Result<OpenJudge> open_judge(const JudgeChoice& choice);

inline constexpr const char* default_profile = "h200";
// Checking takes the GPU about a millisecond a kernel, and the host as much again.
inline constexpr int gpu_workers_batch = 6;
// The profile of the device that is there, or of one like it.
std::string profile_for(const GpuFacts& facts, GpuArchitecture architecture);

}  // namespace kw::cli
