#pragma once
// A judge with what it needs: the one place where compiler, GPU, profile and policy are put together.

#include <memory>
#include <string>

#include "kernel/compile/service.h"
#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge.h"

namespace kw {

// The profile of the device that is there, or of one like it; without a GPU h200.
std::string fitting_profile(const GpuBackend* gpu);

// What verdicts are for. Where thousands of kernels are judged to learn or to count, tasks come once or twice, and
// their references cost more than the kernels: a share of the tasks, drawn in secret, gets unusual inputs at full size,
// which is enough that such shortcuts do not pay. On a GPU, PyTorch is not timed and the time not explained.
enum class JudgePurpose : std::uint8_t { verdict, training, exam };
inline constexpr double training_unusual_share = 0.25;

struct JudgeSessionOptions {
  std::string backend = "auto";  // auto, emulator, gpu
  std::string profile = {};      // empty: the fitting one
  int workers = 0;               // kernels at a time; 0: one for each core
  bool cache = true;             // verdicts and compiled kernels that are known already
  JudgePurpose purpose = JudgePurpose::verdict;
  bool pytorch = true;        // on a GPU: its time, too
  JudgeOptions judging = {};  // everything else; gpu, profile and cache are the session's
};

class JudgeSession {
 public:
  static Result<std::unique_ptr<JudgeSession>> start(const JudgeSessionOptions& options);

  Judge& judge() { return *judge_; }
  CompileService& service() { return *service_; }
  bool on_gpu() const { return gpu_ != nullptr; }
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
