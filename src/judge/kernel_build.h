#pragma once
// From a task and a kernel's text to something that can be executed: rules, split, launch plans, compilation.
// Everything before a kernel runs, in one call, with one status.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/occupancy.h"
#include "compile/service.h"
#include "source/interpreter.h"
#include "source/launch_plan.h"
#include "source/risk.h"
#include "source/rules.h"
#include "task/task.h"

namespace kw {

enum class BuildStatus {
  built,
  rejected,        // a forbidden construct, or text that no compiler should see
  launcher_error,  // no launcher, a wrong signature, or something that the launch would fail of
  compile_error,
  timeout,         // the compiler ran into its limits: time, memory or output
  internal_error,  // our fault or the machine's; the kernel may be good
};
std::string_view to_string(BuildStatus status);

struct SizedPlan {
  Sizes sizes;
  LaunchPlan plan;
};

struct BuildOptions {
  Architecture architecture = Architecture::sm_90;
  bool want_cubin = true;
  Policy policy;
  PlanLimits plan_limits;  // its device is replaced by the architecture's
  CompileLimits compile_limits;
  std::vector<Sizes> sizes;  // to plan for; empty: all of the task's
};

struct KernelBuild {
  BuildStatus status = BuildStatus::internal_error;
  Error problem;                  // the first thing that is wrong, when not built
  std::vector<Finding> findings;  // of the rules
  std::vector<Finding> pitfalls;
  Risk risk;
  std::string fingerprint;  // of the source, ignoring names, comments and layout; empty when it could not be read
  std::vector<SizedPlan> plans;
  CompileResult compiled;  // meaningful when the compiler was reached

  bool built() const { return status == BuildStatus::built; }
};

KernelBuild build_kernel(CompileService& service, const Task& task, std::string_view text, const std::string& file,
                         const BuildOptions& options = {});

// An error when the launch cannot run at all: too many threads, registers or too much shared memory for a block.
Result<Occupancy> occupancy_of(Architecture architecture, const CompiledKernel& kernel, const KernelLaunch& launch);

// The kernel instances that the plans launch, each once.
std::vector<std::string> kernels_of(const std::vector<SizedPlan>& plans);

}  // namespace kw
