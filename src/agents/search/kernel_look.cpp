#include "agents/search/kernel_look.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/source/plan_print.h"

namespace kw {
namespace {

// Of the made-up inputs, and of which blocks are looked at. The verdict uses others, which nobody can know.
constexpr std::uint64_t seed_of_looks = 11;

constexpr double of_the_inputs = 0.9;

// Leaves it unknown where one of the sizes cannot be modelled.
void add_model(const JudgeOptions& judging, const Task& task, const KernelBuild& build, KernelLook& look) {
  const auto module = LoadedModule::load(build.compiled.ptx, "kernel.cu");
  if (!module.ok()) return;
  WorkBudget budget(work_limits(judging.limits));
  double logarithms = 0, bytes = 0;
  std::size_t sizes = 0;
  for (const SizedPlan& plan : build.plans) {
    if (std::ranges::find(task.sizes_train, plan.sizes) == task.sizes_train.end()) continue;
    EstimateOptions options;
    options.seed = seed_of_looks;
    options.budget = &budget;
    const auto made =
        estimate(judging.profile,
                 {full_size_candidate(task, plan, *module, build.compiled.kernels, seed_of_looks, &budget)}, options);
    if (!made.ok() || !made->unknown.empty() || !(made->us > 0)) return;
    logarithms += std::log(made->us);
    bytes += made->input_bytes;
    ++sizes;
  }
  if (sizes == 0) return;
  look.modelled_us = std::exp(logarithms / static_cast<double>(sizes));
  look.input_bytes = bytes;
}

}  // namespace

bool reads_less(const KernelLook& changed, const KernelLook& before) {
  return changed.modelled_us > 0 && changed.input_bytes < of_the_inputs * before.input_bytes;
}

KernelLook look_at_kernel(CompileService& service, const JudgeOptions& judging, const Task& task,
                          const std::string& kernel, bool model) {
  BuildOptions options;
  options.architecture = judging.profile.architecture;
  options.policy = judging.policy;
  KernelBuild build = read_kernel(kernel, "kernel.cu", options);
  if (build.kernel_file == nullptr) return {};
  plan_and_compile(service, task, options, build);
  if (!build.built()) return {};
  Sha256 hash;
  hash.add(build.compiled.ptx_fingerprint);
  for (const SizedPlan& plan : build.plans) hash.add(to_string(plan.sizes)).add(to_json(plan.plan).dump());
  KernelLook look{hash.hex(), 0, 0};
  if (model) add_model(judging, task, build, look);
  return look;
}

}  // namespace kw
