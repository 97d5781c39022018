#include "cli/open_judge.h"

#include <algorithm>
#include <thread>

namespace kw::cli {

void add_judge_options(CLI::App& command, JudgeChoice& choice) {
  command.add_option("--backend", choice.backend, "where kernels run: auto takes the emulator where there is no GPU")
      ->check(CLI::IsMember({"emulator", "gpu", "auto"}))
      ->capture_default_str();
  command.add_option("--profile", choice.profile,
                     "the device whose time is modelled; without it h200, or the GPU's own");
  command.add_option("--judge-workers", choice.workers, "kernels judged at the same time; 0: one for each core")
      ->check(CLI::Range(0, 1024));
  command.add_flag("!--no-cache", choice.cache, "compile and judge even if the result is known");
}

std::string profile_for(const GpuFacts& facts, GpuArchitecture architecture) {
  const auto folder = profiles_folder();
  std::string alike = default_profile;
  if (!folder.ok()) return alike;
  for (const std::string& name : profile_names(*folder)) {
    const auto profile = load_profile(name);
    if (!profile.ok()) continue;
    if (profile->name == facts.name) return name;
    if (profile->architecture == architecture) alike = name;
  }
  return alike;
}

std::string OpenJudge::name() const {
  return gpu != nullptr ? gpu->facts().name : "emulator, " + judge->options().profile.name;
}

Result<OpenJudge> open_judge(const JudgeChoice& choice) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int workers = choice.workers > 0 ? choice.workers : cores;
  OpenJudge open;
  ServiceOptions service;
  service.pool.workers = std::min(workers, cores);
  service.disk_cache = choice.cache;
  open.service = std::make_unique<CompileService>(service);
  if (choice.backend != "emulator") {
    GpuBackendOptions options;
    options.pool.workers = std::min(gpu_workers_batch, workers);
    auto started = GpuBackend::start(*open.service, options);
    if (started.ok())
      open.gpu = std::move(started).value();
    else if (choice.backend == "gpu")
      return started.error();
  }
  JudgeOptions options;
  options.gpu = open.gpu.get();
  const std::string fitting = open.gpu ? profile_for(open.gpu->facts(), open.gpu->architecture()) : default_profile;
  KW_TRY(options.profile, load_profile(choice.profile.empty() ? fitting : choice.profile));
  if (open.gpu) options.profile.architecture = open.gpu->architecture();
  options.cache = choice.cache;
  open.judge = std::make_unique<Judge>(*open.service, options);
  return open;
}

}  // namespace kw::cli
