#include "kernel/performance/plan_time.h"

namespace kw {
namespace {

double transfer_us(const DeviceProfile& device, const ProfiledTransfer& transfer) {
  const double factor = transfer.kind == ProfiledTransfer::Kind::copy ? 2 : 1;  // reads and writes
  return device.transfer_us + factor * static_cast<double>(transfer.bytes) / device.dram_gb_per_s * 1e-3;
}

}  // namespace

std::vector<StepTime> step_times(const DeviceProfile& device, const PlanCounts& plan) {
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

double plan_us(const DeviceProfile& device, const PlanCounts& plan) {
  double us = plan.allocations > 0 ? device.allocation_us : 0;
  for (const StepTime& time : step_times(device, plan)) us += time.us;
  return us;
}

}  // namespace kw
