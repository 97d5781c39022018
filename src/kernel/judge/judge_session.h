#pragma once
// A judge with what it needs, for commands that judge along the way.

#include <memory>
#include <string>

#include "kernel/compile/service.h"
#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge.h"

namespace kw {

// The profile of the device that is there, or of one like it; without a GPU h200.
std::string fitting_profile(const GpuBackend* gpu);

struct JudgeSessionOptions {
  std::string backend = "auto";  // auto, emulator, gpu
  std::string profile;           // empty: the fitting one
  int workers = 0;               // kernels at a time; 0: one for each core
  bool cache = true;             // verdicts and compiled kernels that are known already
};

class JudgeSession {
 public:
  static Result<std::unique_ptr<JudgeSession>> start(const JudgeSessionOptions& options);

  Judge& judge() { return *judge_; }
  CompileService& service() { return *service_; }
  int workers() const { return workers_; }
  // "the emulator, times modelled for NVIDIA H200"
  std::string description() const;
  // Of all that a verdict depends on besides task and kernel.
  std::string identity() const;

 private:
  JudgeSession() = default;
  int workers_ = 1;
  std::unique_ptr<CompileService> service_;
  std::unique_ptr<GpuBackend> gpu_;
  std::unique_ptr<Judge> judge_;
};

}  // namespace kw
