#include "performance/plan_profile.h"

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

}  // namespace

Result<PlanProfile> profile_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options) {
  PlanProfile profile;
  profile.counts.allocations = plan.allocations;
  std::map<std::string, int> known;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    PlanStep step;
    step.launch = i;
    if (const auto* transfer = std::get_if<ProfiledTransfer>(&plan.steps[i])) {
      step.transfer = *transfer;
      profile.counts.steps.push_back(step);
      continue;
    }
    const auto& launch = std::get<ProfiledLaunch>(plan.steps[i]);
    const auto [entry, fresh] = known.emplace(shape_of(launch), static_cast<int>(profile.kernels.size()));
    if (fresh) {
      if (known.size() > options.distinct_launches)
        return Error{fmt::format("the plan has more than {} different launches", options.distinct_launches), "", {}};
      KW_TRY(KernelProfile counted, profile_kernel(device, *plan.memory, launch, options));
      profile.counts.kernels.push_back(counted);
      profile.kernels.push_back(std::move(counted));
    }
    step.kernel = entry->second;
    profile.counts.steps.push_back(step);
  }
  return profile;
}

Result<PlanCounts> count_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options) {
  KW_TRY(PlanProfile profile, profile_plan(device, plan, options));
  return std::move(profile.counts);
}

}  // namespace kw
