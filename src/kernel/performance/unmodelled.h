#pragma once
// What the model has no good price for. A kernel that does much of it gets no time: what nobody can tell is not paid.

#include <string>

#include "kernel/performance/kernel_profile.h"

namespace kw {

// In words, for a message; empty: nothing.
std::string unmodelled_work(const DeviceProfile& device, const ProfiledLaunch& launch, const KernelProfile& profile);

}  // namespace kw
