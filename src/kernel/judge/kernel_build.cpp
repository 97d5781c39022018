#include "kernel/judge/kernel_build.h"

#include <algorithm>
#include <chrono>

#include "kernel/source/fingerprint.h"
#include "kernel/source/needed_source.h"
#include "kernel/source/pitfalls.h"

namespace kw {
namespace {

BuildStatus status_of(CompileStatus status) {
  switch (status) {
    case CompileStatus::compiled:
      return BuildStatus::built;
    case CompileStatus::compile_error:
    case CompileStatus::compiler_crashed:
      return BuildStatus::compile_error;
    case CompileStatus::timeout:
    case CompileStatus::out_of_memory:
    case CompileStatus::output_too_large:
      return BuildStatus::timeout;
    case CompileStatus::rejected:
      return BuildStatus::rejected;
    case CompileStatus::internal_error:
      return BuildStatus::internal_error;
  }
  return BuildStatus::internal_error;
}

Error first_problem(const CompileResult& result, const std::string& file) {
  for (const Diagnostic& diagnostic : result.diagnostics) {
    if (diagnostic.severity != Severity::error) continue;
    return Error{diagnostic.message,
                 diagnostic.advice,
                 {diagnostic.file, static_cast<int>(diagnostic.line), static_cast<int>(diagnostic.column)}};
  }
  return Error{result.explanation, "", {file, 0, 0}};
}

}  // namespace

LaunchDevice launch_device(GpuArchitecture architecture) {
  const DeviceLimits limits = device_limits(architecture);
  LaunchDevice device;
  device.multiprocessors = limits.multiprocessors;
  device.compute_major = compute_capability(architecture) / 10;
  device.compute_minor = compute_capability(architecture) % 10;
  device.max_threads_per_block = limits.max_threads_per_block;
  device.max_threads_per_multiprocessor = limits.max_threads_per_sm;
  device.max_blocks_per_multiprocessor = limits.max_blocks_per_sm;
  device.registers_per_multiprocessor = limits.registers_per_sm;
  device.shared_bytes_default = static_cast<std::uint32_t>(limits.shared_bytes_per_block);
  device.shared_bytes_optin = static_cast<std::uint32_t>(limits.shared_bytes_per_block_optin);
  device.shared_bytes_per_multiprocessor = static_cast<std::uint32_t>(limits.shared_bytes_per_sm);
  return device;
}

namespace {

// A launch over the limits does nothing at all on a GPU, silently unless somebody asks for the error.
Result<void> check_launches(const KernelBuild& build, GpuArchitecture architecture) {
  for (const SizedPlan& sized : build.plans) {
    for (const KernelLaunch* launch : sized.plan.launches()) {
      for (const CompiledKernel& kernel : build.compiled.kernels) {
        if (kernel.name != launch->kernel || !kernel.resources.known) continue;
        const auto fits = occupancy_of(architecture, kernel, *launch);
        if (fits.ok()) continue;
        return Error{fits.error().message + " [at " + to_string(sized.sizes) + "]", fits.error().advice, launch->where};
      }
    }
  }
  return {};
}

}  // namespace

Result<Occupancy> occupancy_of(GpuArchitecture architecture, const CompiledKernel& kernel, const KernelLaunch& launch) {
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  if (kernel.resources.max_threads > 0 && threads > static_cast<std::uint64_t>(kernel.resources.max_threads)) {
    return Error{"'" + kernel.name + "' is launched with " + std::to_string(threads) +
                     " threads a block, but its __launch_bounds__ says " + std::to_string(kernel.resources.max_threads),
                 "launch fewer threads or raise the bound", launch.where};
  }
  return occupancy(architecture, kernel.resources, static_cast<int>(threads), launch.dynamic_shared_bytes);
}

std::string_view to_string(BuildStatus status) {
  switch (status) {
    case BuildStatus::built:
      return "built";
    case BuildStatus::rejected:
      return "rejected";
    case BuildStatus::launcher_error:
      return "launcher_error";
    case BuildStatus::compile_error:
      return "compile_error";
    case BuildStatus::timeout:
      return "timeout";
    case BuildStatus::internal_error:
      return "internal_error";
  }
  return "";
}

std::vector<std::string> kernels_of(const std::vector<SizedPlan>& plans) {
  std::vector<std::string> names;
  for (const SizedPlan& sized : plans) {
    for (const KernelLaunch* launch : sized.plan.launches()) {
      if (std::find(names.begin(), names.end(), launch->kernel) == names.end()) names.push_back(launch->kernel);
    }
  }
  return names;
}

KernelBuild read_kernel(std::string_view text, const std::string& file, const BuildOptions& options) {
  KernelBuild build;
  if (text.size() > max_kernel_file_bytes) {
    build.status = BuildStatus::rejected;
    build.problem = Error{
        "the file has more than the " + std::to_string(max_kernel_file_bytes) + " bytes that a kernel file may have",
        "write a smaller kernel",
        {file, 0, 0}};
    build.findings.push_back(
        {"file-size", Severity::error, build.problem.where, build.problem.message, build.problem.advice});
    return build;
  }
  build.findings = check_rules(text, file, options.policy);
  build.risk = assess_risk(text, file, options.policy);
  for (const Finding& finding : build.findings) {
    if (finding.severity != Severity::error) continue;
    build.status = BuildStatus::rejected;
    build.problem = Error{finding.message, finding.advice, finding.where};
    return build;
  }
  auto kernel_file = read_kernel_file(text, file);
  if (!kernel_file.ok()) {
    build.status = BuildStatus::launcher_error;
    build.problem = kernel_file.error();
    return build;
  }
  build.kernel_file = std::make_shared<const KernelFile>(std::move(kernel_file).value());
  build.fingerprint = fingerprint(text);
  build.pitfalls = find_pitfalls(text, file);
  return build;
}

void plan_and_compile(CompileService& service, const Task& task, const BuildOptions& options, KernelBuild& build) {
  const auto stop = [&](BuildStatus status, Error problem) {
    build.status = status;
    build.problem = std::move(problem);
  };
  const auto start = std::chrono::steady_clock::now();
  PlanLimits plan_limits = options.plan_limits;
  plan_limits.device = launch_device(options.architecture);
  std::vector<PlanRequest> requests = options.plans;
  if (requests.empty()) {
    for (const Sizes& sizes : task.all_sizes()) requests.push_back({sizes, {}});
  }
  for (const PlanRequest& request : requests) {
    auto plan = make_launch_plan(*build.kernel_file, task, request.sizes, plan_limits, request.scalars);
    if (plan_limits.budget != nullptr && plan_limits.budget->stopped())
      return stop(BuildStatus::timeout, plan_limits.budget->exceeded_error());
    if (!plan.ok()) {
      Error problem = plan.error();
      problem.message += " [at " + to_string(request.sizes) + "]";
      return stop(BuildStatus::launcher_error, std::move(problem));
    }
    if (plan->launches().empty()) {
      return stop(BuildStatus::launcher_error, Error{"no kernel is launched [at " + to_string(request.sizes) + "]",
                                                     "launch a kernel for every size", build.kernel_file->launcher});
    }
    build.plans.push_back({request.sizes, std::move(plan).value()});
  }

  build.planning_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CompileRequest request;
  request.source = build.kernel_file->device_source;
  request.file_name = build.kernel_file->file;
  request.kernels = kernels_of(build.plans);
  request.architecture = options.architecture;
  request.want_cubin = options.want_cubin;
  request.limits = options.compile_limits;
  build.compiled = service.compile(request);
  build.status = status_of(build.compiled.status);
  if (build.compiled.status == CompileStatus::compile_error && build.compiled.diagnostics.empty())
    build.status = BuildStatus::internal_error;  // a compiler that fails without a reason says nothing about the kernel
  if (!build.built()) {
    build.problem = first_problem(build.compiled, build.kernel_file->file);
    return;
  }
  const auto launches = check_launches(build, options.architecture);
  if (!launches.ok()) stop(BuildStatus::launcher_error, launches.error());
}

bool read_needed(std::string_view text, const std::string& file, const BuildOptions& options, KernelBuild& build,
                 std::optional<Refusal>& refusal) {
  const bool refused = build.status == BuildStatus::rejected || build.status == BuildStatus::launcher_error ||
                       build.status == BuildStatus::compile_error;
  if (!refused || refusal || text.size() > max_kernel_file_bytes) return false;
  auto needed = needed_source(text, file);
  if (!needed) return false;
  refusal = Refusal{build.status, std::move(build.problem), std::move(build.findings), std::move(build.compiled),
                    std::move(*needed)};
  Risk risk = std::move(build.risk);  // what stands beside the kernel is still there for whoever looks at the file
  build = read_kernel(refusal->needed, file, options);
  build.risk = std::move(risk);
  return true;
}

namespace {

std::string_view line_of(std::string_view text, int line) {
  for (int at = 1; at < line && !text.empty(); ++at) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace

void settle_refusal(std::string_view text, const std::optional<Refusal>& refusal, KernelBuild& build) {
  if (!refusal) return;
  const int line = refusal->problem.where.line;
  const bool gone = line > 0 && line_of(text, line) != line_of(refusal->needed, line);
  if (!build.built() && !gone) {
    build.status = refusal->status;
    build.problem = refusal->problem;
    build.findings = refusal->findings;
    build.compiled = refusal->compiled;
    return;
  }
  build.findings.push_back(
      {"not-needed", Severity::note, refusal->problem.where,
       "what the launch does not need was left out, such as what stands here: " + refusal->problem.message, ""});
}

KernelBuild build_kernel(CompileService& service, const Task& task, std::string_view text, const std::string& file,
                         const BuildOptions& options) {
  std::optional<Refusal> refusal;
  KernelBuild build = read_kernel(text, file, options);
  if (build.kernel_file != nullptr) plan_and_compile(service, task, options, build);
  if (read_needed(text, file, options, build, refusal) && build.kernel_file != nullptr)
    plan_and_compile(service, task, options, build);
  settle_refusal(text, refusal, build);
  return build;
}

}  // namespace kw
