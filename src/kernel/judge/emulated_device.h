#pragma once
// Executes launch plans in the emulator. Inputs, outputs and the module's variables keep their place from run to run,
// as they would on a GPU, so that a kernel which remembers earlier results is found out.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/compile/compilation.h"
#include "kernel/emulate/emulator.h"
#include "kernel/source/launch_plan.h"
#include "kernel/task/input_values.h"

namespace kw {

struct PlanRun {
  RunStatus status = RunStatus::ok;
  std::vector<EmulatorFinding> findings;
  std::string unsupported;                       // the instruction, when that is the status
  std::vector<std::string> outputs;              // empty unless the status is ok
  std::vector<UndefinedBytes> undefined;         // of each output
  std::optional<EmulatorFinding> stray_shuffle;  // see RunResult
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
};

class EmulatedDevice {
 public:
  // All must outlive the device. What it does is charged to the budget, if there is one.
  EmulatedDevice(const LoadedModule& module, const std::vector<CompiledKernel>& kernels, WorkBudget* budget = nullptr);

  // `inputs` as the task has them; those that are scalars are in the plan already. An error is a plan that does not
  // fit the emulated device, never the kernel's fault.
  Result<PlanRun> run(const LaunchPlan& plan, const std::vector<InputTensor>& inputs, const RunLimits& limits,
                      const RunOptions& options);

  // Gives inputs and outputs their places, as run does first of all.
  Result<void> place_buffers(const LaunchPlan& plan, const std::vector<InputTensor>& inputs);

  DeviceMemory& memory() { return memory_; }
  // Where buffer i of the plan that was run last lies.
  std::uint64_t address_of(std::size_t buffer) const { return addresses_.at(buffer); }

 private:
  struct StepRunner;

  const LoadedModule& module_;
  const std::vector<CompiledKernel>& kernels_;
  WorkBudget* budget_;
  DeviceMemory memory_;
  std::vector<std::uint64_t> addresses_;  // of the plan's buffers; 0: not there
};

}  // namespace kw
