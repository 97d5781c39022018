#include "kernel/judge/judge_session.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parallel_for.h"
#include "kernel/gpu/gpu_choice.h"

namespace kw {
namespace {

constexpr const char* default_profile = "h200";
// Checking takes the GPU about a millisecond a kernel, and the host as much again.
constexpr int gpu_workers_most = 6;
constexpr int gpu_workers_training = 4;

}  // namespace

std::string fitting_profile(const GpuBackend* gpu) {
  const auto folder = profiles_folder();
  std::string alike = default_profile;
  if (gpu == nullptr) return alike;
  if (!folder.ok()) return alike;
  for (const std::string& name : profile_names(*folder)) {
    const auto profile = load_profile(name);
    if (!profile.ok()) continue;
    if (profile->name == gpu->facts().name) return name;
    if (profile->architecture == gpu->architecture()) alike = name;
  }
  return alike;
}

Result<std::unique_ptr<JudgeSession>> JudgeSession::start(const JudgeSessionOptions& options) {
  std::unique_ptr<JudgeSession> session(new JudgeSession);
  const int cores = core_count();
  session->workers_ = options.workers > 0 ? options.workers : cores;
  ServiceOptions service;
  service.pool.workers = std::min(session->workers_, cores);
  service.disk_cache = options.cache;
  session->service_ = std::make_unique<CompileService>(service);
  if (options.backend != "emulator") {
    GpuBackendOptions gpu;
    gpu.pool.workers = std::min(gpu_workers_most, session->workers_);
    // A model generates on the same GPU.
    if (options.purpose == JudgePurpose::training) gpu.pool.workers = std::clamp(cores / 2, 1, gpu_workers_training);
    gpu.pool.counters = options.judging.counters;
    gpu.pytorch = options.pytorch && options.purpose != JudgePurpose::training;
    auto started = GpuBackend::start(*session->service_, gpu);
    if (!started.ok() && (options.backend == "gpu" || gpu_is_chosen())) return started.error();
    if (started.ok()) session->gpu_ = std::move(started).value();
    // While some wait for the GPU, others compile.
    if (session->gpu_ != nullptr && options.workers == 0) session->workers_ = 2 * cores;
  }
  JudgeOptions judging = options.judging;
  judging.cache = options.cache;
  if (options.purpose != JudgePurpose::verdict) judging.unusual_share = training_unusual_share;
  if (options.purpose == JudgePurpose::training) judging.explain = false;
  judging.gpu = session->gpu_.get();
  KW_TRY(judging.profile, load_profile(options.profile.empty() ? fitting_profile(judging.gpu) : options.profile));
  if (judging.gpu != nullptr) judging.profile.architecture = judging.gpu->architecture();
  session->judge_ = std::make_unique<Judge>(*session->service_, judging);
  return session;
}

std::string JudgeSession::description() const {
  if (gpu_ != nullptr) return "measured on " + gpu_->facts().name;
  return "emulated, times modelled for " + judge_->options().profile.name;
}

std::string JudgeSession::identity() const {
  return fmt::format("{} {}{}", gpu_ != nullptr ? gpu_->facts().name : "emulator", judge_->options().profile.name,
                     judge_->options().unusual_share < 1 ? fmt::format(" {}", judge_->options().unusual_share) : "");
}

}  // namespace kw
