#pragma once
// From a task and a kernel's text to something that can be executed: rules, split, launch plans, compilation.
// Everything before a kernel runs, in one call, with one status.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/compile/occupancy.h"
#include "kernel/compile/service.h"
#include "kernel/source/interpreter.h"
#include "kernel/source/launch_plan.h"
#include "kernel/source/risk.h"
#include "kernel/source/rules.h"
#include "kernel/task/task.h"

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

// What a launcher is planned for. Its launches may depend on sizes and on scalar inputs.
struct PlanRequest {
  Sizes sizes;
  ScalarInputs scalars;
};

struct SizedPlan {
  Sizes sizes;
  LaunchPlan plan;
};

struct BuildOptions {
  GpuArchitecture architecture = GpuArchitecture::sm_90;
  bool want_cubin = true;
  Policy policy;
  PlanLimits plan_limits;  // its device is replaced by the architecture's
  CompileLimits compile_limits;
  std::vector<PlanRequest> plans;  // empty: all sizes of the task
};

struct KernelBuild {
  BuildStatus status = BuildStatus::internal_error;
  Error problem;                  // the first thing that is wrong, when not built
  std::vector<Finding> findings;  // of the rules
  std::vector<Finding> pitfalls;
  Risk risk;
  std::string fingerprint;  // of the source, ignoring names, comments and layout; empty when it could not be read
  std::shared_ptr<const KernelFile> kernel_file;  // null when the text could not be read
  std::vector<SizedPlan> plans;                   // in the order of the requests
  CompileResult compiled;                         // meaningful when the compiler was reached
  double planning_ms = 0;

  bool built() const { return status == BuildStatus::built; }
};

// The two halves of build_kernel. Reading takes no compiler and is enough to refuse whatever is no kernel: then the
// kernel_file is null, and status and problem say why.
KernelBuild read_kernel(std::string_view text, const std::string& file, const BuildOptions& options = {});
void plan_and_compile(CompileService& service, const Task& task, const BuildOptions& options, KernelBuild& build);

// Why a file is not judged as it stands, but without what its launch does not need (kernel/source/needed_source.h).
struct Refusal {
  BuildStatus status = BuildStatus::rejected;
  Error problem;
  std::vector<Finding> findings;
  CompileResult compiled;
  std::string needed;  // the text that is judged
};

// When the build failed for the file's fault: reads the file again without what its launch does not need, once. False,
// and nothing is changed, when there is nothing to leave out, or that has been done.
bool read_needed(std::string_view text, const std::string& file, const BuildOptions& options, KernelBuild& build,
                 std::optional<Refusal>& refusal);

// After the second attempt: what was wrong with the file as it stands is the answer, unless the rest is built, or what
// was wrong stands in what was left out.
void settle_refusal(std::string_view text, const std::optional<Refusal>& refusal, KernelBuild& build);

// All of it: reading, planning and compiling, and once more what is needed.
KernelBuild build_kernel(CompileService& service, const Task& task, std::string_view text, const std::string& file,
                         const BuildOptions& options = {});

// An error when the launch cannot run at all: too many threads, registers or too much shared memory for a block.
Result<Occupancy> occupancy_of(GpuArchitecture architecture, const CompiledKernel& kernel, const KernelLaunch& launch);

// What a launcher can ask about a device of the architecture.
LaunchDevice launch_device(GpuArchitecture architecture);

// The kernel instances that the plans launch, each once.
std::vector<std::string> kernels_of(const std::vector<SizedPlan>& plans);

}  // namespace kw
