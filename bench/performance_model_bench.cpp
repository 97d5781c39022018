// The modelled time of every kernel of the suite at its train sizes, one JSON line each, for comparison with measured
// ones (scripts/compare_model.py). Arguments: --holdout for the held-out sizes, the profile, then tasks; without any,
// h200 and the whole suite.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "kernel/compile/worker.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/task/task_file.h"

namespace {

constexpr std::uint64_t seed = 7;

void print_sizes(const kw::Task& task, const std::string& variant, const kw::KernelBuild& build,
                 const kw::LoadedModule& module, const kw::DeviceProfile& profile) {
  for (const kw::SizedPlan& plan : build.plans) {
    const auto start = std::chrono::steady_clock::now();
    const auto made =
        kw::estimate(profile, {kw::full_size_candidate(task, plan, module, build.compiled.kernels, seed)});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (!made.ok()) {
      fmt::print(stderr, "{} {} {}: {}\n", task.name, variant, kw::to_string(plan.sizes), made.error().message);
      continue;
    }
    std::string sizes;
    for (const auto& [name, value] : plan.sizes)
      sizes += fmt::format("{}\"{}\": {}", sizes.empty() ? "" : ", ", name, value);
    fmt::print(
        "{{\"task\": \"{}\", \"kernel\": \"{}\", \"size\": {{{}}}, \"us\": {:.2f}, \"low_us\": {:.2f}, \"high_us\": "
        "{:.2f}, "
        "\"limiter\": \"{}\", \"model_ms\": {:.1f}}}\n",
        task.name, variant, sizes, made->us, made->low_us, made->high_us, made->limiter, took.count());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  const bool holdout = argc > 1 && std::string(argv[1]) == "--holdout";
  if (holdout) {
    --argc;
    ++argv;
  }
  const auto profile = kw::load_profile(argc > 1 ? argv[1] : "h200");
  const auto folder = kw::suite_folder();
  if (!profile.ok() || !folder.ok()) {
    fmt::print(stderr, "{}\n", kw::to_string(profile.ok() ? folder.error() : profile.error()));
    return 1;
  }
  kw::CompileService service;
  std::vector<std::string> names(argv + std::min(argc, 2), argv + argc);
  if (names.empty()) {
    const auto suite = kw::load_suite(*folder);
    if (!suite.ok()) return 1;
    for (const kw::SuiteEntry& entry : *suite) names.push_back(entry.name);
  }
  for (const std::string& name : names) {
    const auto task = kw::find_task(*folder, name);
    if (!task.ok()) continue;
    kw::BuildOptions options;
    options.architecture = profile->architecture;
    for (const kw::Sizes& sizes : holdout ? task->sizes_holdout : task->sizes_train)
      if (const auto scalars = kw::scalars_at(*task, sizes, seed); scalars.ok())
        options.plans.push_back({sizes, *scalars});
    for (const std::string variant : {"naive", "optimised"}) {
      const std::string file = (*folder / name / (variant + ".cu")).string();
      const auto text = kw::read_file(file);
      if (!text.ok()) continue;
      const kw::KernelBuild build = kw::build_kernel(service, *task, *text, file, options);
      const auto module = kw::LoadedModule::load(build.compiled.ptx, file);
      if (build.built() && module.ok())
        print_sizes(*task, variant, build, *module, *profile);
      else
        fmt::print(stderr, "{} {} was not built: {}\n", name, variant, kw::to_string(build.problem));
    }
  }
}
