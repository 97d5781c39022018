#include "kernel/judge/judge_session.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parallel_for.h"
#include "kernel/gpu/gpu_choice.h"
#include "kernel/judge/judge_secret.h"

namespace kw {
namespace {

constexpr const char* default_profile = "h200";
// Checking takes the GPU about a millisecond a kernel, and the host as much again.
constexpr int gpu_workers_most = 6;
constexpr int gpu_workers_training = 4;
constexpr std::string_view purpose_names[] = {"verdict", "training", "exam"};
static_assert(std::size(purpose_names) == judge_purposes);

void set_purpose(JudgePurpose purpose, JudgeOptions& judging) {
  if (purpose != JudgePurpose::verdict) judging.unusual_share = training_unusual_share;
  if (purpose != JudgePurpose::training) return;
  judging.explain = false;
  judging.pytorch = false;
}

// The profile that is called so, where this machine has it: for descriptions.
DeviceProfile profile_called(const std::string& called) {
  if (const auto folder = profiles_folder(); folder.ok())
    for (const std::string& name : profile_names(*folder))
      if (auto profile = load_profile(name); profile.ok() && profile->name == called) return std::move(profile).value();
  DeviceProfile unknown;
  unknown.name = called;
  return unknown;
}

}  // namespace

std::string_view name_of(JudgePurpose purpose) { return purpose_names[static_cast<std::size_t>(purpose)]; }

std::optional<JudgePurpose> purpose_from_name(std::string_view name) {
  for (std::size_t i = 0; i < judge_purposes; ++i)
    if (purpose_names[i] == name) return static_cast<JudgePurpose>(i);
  return std::nullopt;
}

Result<void> check_backend(const std::string& backend) {
  if (backend == "auto" || backend == "emulator" || backend == "gpu") return {};
  if (!names_judge_services(backend))
    return Error{fmt::format("kernels cannot be judged on '{}'", backend.substr(0, 200)),
                 "auto, emulator, gpu, or addresses of services: http://a:8000,http://b:8000",
                 {}};
  KW_TRY([[maybe_unused]] const auto urls, parse_judge_services(backend));
  return {};
}

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
  KW_TRY_VOID(check_backend(options.backend));
  std::unique_ptr<JudgeSession> session(new JudgeSession);
  const int cores = core_count();
  session->workers_ = options.workers > 0 ? options.workers : cores;
  ServiceOptions service;
  service.pool.workers = std::min(session->workers_, cores);
  service.disk_cache = options.cache;
  session->service_ = std::make_unique<CompileService>(service);
  JudgeOptions judging = options.judging;
  judging.cache = options.cache;
  set_purpose(options.purpose, judging);
  if (!options.secret_file.empty()) {
    KW_TRY(judging.secret, read_judge_secret(options.secret_file));
  }
  if (names_judge_services(options.backend)) {
    KW_TRY_VOID(session->start_services(options, std::move(judging)));
    return session;
  }
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
  judging.gpu = session->gpu_.get();
  KW_TRY(judging.profile, load_profile(options.profile.empty() ? fitting_profile(judging.gpu) : options.profile));
  if (judging.gpu != nullptr) judging.profile.architecture = judging.gpu->architecture();
  session->judge_ = std::make_unique<Judge>(*session->service_, judging);
  return session;
}

Result<void> JudgeSession::start_services(const JudgeSessionOptions& options, JudgeOptions judging) {
  JudgeServicesOptions asked;
  asked.where = options.backend;
  asked.purpose = name_of(options.purpose);
  if (!options.profile.empty()) {
    KW_TRY(const DeviceProfile wanted, load_profile(options.profile));
    asked.profile_digest = wanted.digest;
  }
  // A judge of our own would have these rules and this secret.
  const Judge own(*service_, judging);
  asked.rules = own.rules();
  asked.secret = own.options().secret;
  KW_TRY(services_, JudgeServices::open(std::move(asked)));
  judging.services = services_.get();
  judging.profile = profile_called(services_->facts().profile);
  judge_ = std::make_unique<Judge>(*service_, std::move(judging));
  workers_ = options.workers > 0 ? options.workers : services_->workers();
  return {};
}

std::unique_ptr<Judge> JudgeSession::judge_for(JudgePurpose purpose) {
  KW_CHECK(services_ == nullptr);
  JudgeOptions judging = judge_->options();
  set_purpose(purpose, judging);
  return std::make_unique<Judge>(*service_, std::move(judging));
}

std::string JudgeSession::description() const {
  if (services_ != nullptr) return services_->facts().description();
  if (gpu_ != nullptr) return "measured on " + gpu_->facts().name;
  return "emulated, times modelled for " + judge_->options().profile.name;
}

std::string JudgeSession::identity() const {
  const bool far = services_ != nullptr && on_gpu();
  const std::string device = far ? services_->facts().device : gpu_ != nullptr ? gpu_->facts().name : "emulator";
  return fmt::format("{} {}{}", device, judge_->options().profile.name,
                     judge_->options().unusual_share < 1 ? fmt::format(" {}", judge_->options().unusual_share) : "");
}

}  // namespace kw
