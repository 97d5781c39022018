#pragma once
// A whole plan: what its steps count, and their times in stream order. Counting runs the emulator; timing only
// evaluates formulas, so that one count serves any number of changed constants.

#include <vector>

#include "kernel/performance/kernel_time.h"

namespace kw {

struct PlanStep {
  int kernel = -1;  // index into PlanCounts::kernels; -1: a transfer
  ProfiledTransfer transfer;
  std::size_t launch = 0;  // index into PreparedPlan::steps
};

struct PlanCounts {
  std::vector<KernelCounts> kernels;  // launches that are equal share one
  std::vector<PlanStep> steps;
  int allocations = 0;
};

// Runs the emulator.
Result<PlanCounts> count_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options);

struct StepTime {
  double overhead_us = 0;  // of the launch
  double us = 0;           // with it
  KernelTime kernel;       // of launches
};

std::vector<StepTime> step_times(const DeviceProfile& device, const PlanCounts& plan);
// Steps and allocations together.
double plan_us(const DeviceProfile& device, const PlanCounts& plan);

}  // namespace kw
