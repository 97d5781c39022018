#pragma once
// Which source lines a kernel's time goes to, and why.

#include "kernel/performance/kernel_profile.h"
#include "kernel/performance/kernel_time.h"

namespace kw {

// Shares are of this kernel's cost, the largest first.
std::vector<HotLine> find_hot_lines(const DeviceProfile& device, const KernelProfile& profile, const KernelTime& time,
                                    const std::string& kernel, std::size_t most);

}  // namespace kw
