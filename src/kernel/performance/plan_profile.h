#pragma once
// Runs the sampled blocks of every different launch of a plan.

#include "kernel/performance/kernel_profile.h"
#include "kernel/performance/plan_time.h"

namespace kw {

struct PlanProfile {
  PlanCounts counts;
  std::vector<KernelProfile> kernels;  // as in `counts`, with their instructions
};

Result<PlanProfile> profile_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options);

}  // namespace kw
