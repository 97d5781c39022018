#pragma once
// A judge with what it needs: the one place where compiler, GPU, profile and policy are put together.

#include <memory>
#include <string>

#include "kernel/compile/service.h"
#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/judge_services.h"

namespace kw {

// The profile of the device that is there, or of one like it; without a GPU h200.
std::string fitting_profile(const GpuBackend* gpu);

// What verdicts are for. Where thousands of kernels are judged to learn or to count, tasks come once or twice, and
// their references cost more than the kernels: a share of the tasks, drawn in secret, gets unusual inputs at full size,
// which is enough that such shortcuts do not pay. On a GPU, PyTorch is not timed and the time not explained.
enum class JudgePurpose : std::uint8_t { verdict, training, exam };
inline constexpr std::size_t judge_purposes = 3;
std::string_view name_of(JudgePurpose purpose);
std::optional<JudgePurpose> purpose_from_name(std::string_view name);
inline constexpr double training_unusual_share = 0.25;

struct JudgeSessionOptions {
  std::string backend = "auto";  // auto, emulator, gpu, or services: "http://a:8000,http://b:8000" (judge_services.h)
  std::string profile = {};      // empty: the fitting one
  int workers = 0;               // kernels at a time; 0: one for each core
  bool cache = true;             // verdicts and compiled kernels that are known already
  JudgePurpose purpose = JudgePurpose::verdict;
  bool pytorch = true;           // on a GPU: its time, too
  JudgeOptions judging = {};     // everything else; gpu, services, profile and cache are the session's
  std::string secret_file = {};  // with the secret that several judges share; empty: this machine's own
};

// An error where it is neither a backend nor services.
Result<void> check_backend(const std::string& backend);

class JudgeSession {
 public:
  static Result<std::unique_ptr<JudgeSession>> start(const JudgeSessionOptions& options);

  Judge& judge() { return *judge_; }
  CompileService& service() { return *service_; }
  // One that judges for another purpose, with the same compiler, GPU and secret. Not where services judge.
  std::unique_ptr<Judge> judge_for(JudgePurpose purpose);
  const JudgeServices* services() const { return services_.get(); }
  bool on_gpu() const { return services_ != nullptr ? services_->facts().backend == "gpu" : gpu_ != nullptr; }
  int workers() const { return workers_; }
  // "the emulator, times modelled for NVIDIA H200"
  std::string description() const;
  // Of all that a verdict depends on besides task and kernel.
  std::string identity() const;

 private:
  JudgeSession() = default;
  Result<void> start_services(const JudgeSessionOptions& options, JudgeOptions judging);
  int workers_ = 1;
  std::unique_ptr<CompileService> service_;
  std::unique_ptr<GpuBackend> gpu_;
  std::unique_ptr<JudgeServices> services_;
  std::unique_ptr<Judge> judge_;
};

}  // namespace kw
