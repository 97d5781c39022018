#include "kernel/performance/plan_profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

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

// Of the blocks that were executed, an average one's.
double known_work(const PreparedPlan& plan, std::size_t step) {
  if (step >= plan.executed.size() || plan.executed[step].empty()) return 0;
  double sum = 0;
  for (const ExecutedBlock& block : plan.executed[step]) sum += static_cast<double>(block.warp_instructions);
  return sum / static_cast<double>(plan.executed[step].size());
}

// A launch that was profiled before, and the work that was known of it.
struct KnownLaunch {
  int kernel = 0;
  double work = 0;
};

// With real contents equal launches may do different things: by a counter in memory, say.
bool same_work(double before, double now) {
  constexpr double equal = 0.05;
  return before == 0 || now == 0 || std::abs(before - now) <= equal * std::max(before, now);
}

}  // namespace

Result<PlanProfile> profile_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options) {
  PlanProfile profile;
  profile.counts.allocations = plan.allocations;
  std::map<std::string, std::vector<KnownLaunch>> known;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    PlanStep step;
    step.launch = i;
    if (const auto* transfer = std::get_if<ProfiledTransfer>(&plan.steps[i])) {
      step.transfer = *transfer;
      profile.counts.steps.push_back(step);
      continue;
    }
    const auto& launch = std::get<ProfiledLaunch>(plan.steps[i]);
    std::vector<KnownLaunch>& alike = known[shape_of(launch)];
    const double work = known_work(plan, i);
    const auto equal =
        std::find_if(alike.begin(), alike.end(), [&](const KnownLaunch& each) { return same_work(each.work, work); });
    if (equal != alike.end()) {
      step.kernel = equal->kernel;
    } else {
      if (profile.kernels.size() >= options.distinct_launches)
        return Error{fmt::format("the plan has more than {} different launches", options.distinct_launches), "", {}};
      LaunchContents contents;
      contents.real = static_cast<bool>(plan.reach);
      if (contents.real) KW_TRY_VOID(plan.reach(i));
      if (i < plan.executed.size()) contents.executed = plan.executed[i];
      KW_TRY(KernelProfile counted, profile_kernel(device, *plan.memory, launch, options, contents));
      step.kernel = static_cast<int>(profile.kernels.size());
      alike.push_back({step.kernel, work});
      profile.counts.kernels.push_back(counted);
      profile.kernels.push_back(std::move(counted));
    }
    profile.counts.steps.push_back(step);
  }
  return profile;
}

Result<PlanCounts> count_plan(const DeviceProfile& device, PreparedPlan& plan, const EstimateOptions& options) {
  KW_TRY(PlanProfile profile, profile_plan(device, plan, options));
  return std::move(profile.counts);
}

}  // namespace kw
