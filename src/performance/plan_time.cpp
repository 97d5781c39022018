#include "performance/plan_time.h"

#include <map>

#include <fmt/format.h>

namespace kw {
namespace {

// Launches that cost the same: same kernel, same shape, same arguments.
std::string shape_of(const ProfiledLaunch& launch) {
  const LaunchArguments& arguments = launch.arguments;
  std::string text =
      fmt::format("{}|{},{},{}|{},{},{}|{}", arguments.kernel, arguments.grid[0], arguments.grid[1], arguments.grid[2],
                  arguments.block[0], arguments.block[1], arguments.block[2], arguments.dynamic_shared_bytes);
  for (const std::string& parameter : arguments.parameters) text += "|" + parameter;
  return text;
}

double transfer_us(const DeviceProfile& device, const ProfiledTransfer& transfer) {
  const double factor = transfer.kind == ProfiledTransfer::Kind::copy ? 2 : 1;  // reads and writes
  return device.transfer_us + factor * static_cast<double>(transfer.bytes) / device.dram_gb_per_s * 1e-3;
}

}  // namespace

void PlanProfile::keep_counts() {
  for (KernelProfile& kernel : kernels) {
    kernel.code.reset();
    kernel.instructions = {};
  }
}

Result<PlanProfile> profile_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options) {
  PlanProfile profile;
  profile.allocations = plan.allocations;
  std::map<std::string, int> known;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    PlanStep step;
    step.launch = i;
    if (const auto* transfer = std::get_if<ProfiledTransfer>(&plan.steps[i])) {
      step.transfer = *transfer;
      profile.steps.push_back(step);
      continue;
    }
    const auto& launch = std::get<ProfiledLaunch>(plan.steps[i]);
    const auto [entry, fresh] = known.emplace(shape_of(launch), static_cast<int>(profile.kernels.size()));
    if (fresh) {
      if (known.size() > options.distinct_launches)
        return Error{fmt::format("the plan has more than {} different launches", options.distinct_launches), "", {}};
      KW_TRY(KernelProfile counted, profile_kernel(device, *plan.memory, launch, options));
      profile.kernels.push_back(std::move(counted));
    }
    step.kernel = entry->second;
    profile.steps.push_back(step);
  }
  return profile;
}

std::vector<StepTime> step_times(const DeviceProfile& device, const PlanProfile& plan) {
  std::vector<StepTime> times;
  times.reserve(plan.steps.size());
  ResidentData resident(device.l2_mib * 1048576);
  for (const PlanStep& step : plan.steps) {
    StepTime& time = times.emplace_back();
    if (step.kernel < 0) {
      time.us = transfer_us(device, step.transfer);
      continue;
    }
    time.kernel = kernel_time(device, plan.kernels[static_cast<std::size_t>(step.kernel)], resident);
    time.overhead_us = times.size() == 1 ? device.launch_us : device.next_launch_us;
    time.us = time.overhead_us + time.kernel.us;
  }
  return times;
}

double plan_us(const DeviceProfile& device, const PlanProfile& plan) {
  double us = plan.allocations * device.allocation_us;
  for (const StepTime& time : step_times(device, plan)) us += time.us;
  return us;
}

}  // namespace kw
