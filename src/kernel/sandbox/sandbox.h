#pragma once
// Giving up everything: for a process that has loaded all it needs and will now work on what it does not trust.

#include <cstdint>

#include "base/result.h"
#include "kernel/sandbox/isolated_process.h"
#include "kernel/sandbox/protection.h"
#include "kernel/sandbox/syscall_filter.h"

namespace kw {

struct SandboxOptions {
  int keep_descriptor = -1;  // every other descriptor is closed; 0, 1 and 2 become /dev/null
  FilterRole role = FilterRole::service;
};

// Leaves the file system, drops capabilities, the environment and all descriptors but one, and installs the filter of
// the role. What this machine does not allow is left out and shows in the returned Protection; only a missing
// system-call filter or missing limits are an error, because then nothing would hold.
Result<Protection> enter_sandbox(const SandboxOptions& options, const NamespaceSet& namespaces);

// Of this process and what it starts, for good.
bool drop_capabilities();

struct ProcessLimits {
  std::uint64_t memory_bytes = 0;  // address space, all together
  std::uint64_t cpu_seconds = 0;   // SIGXCPU at the limit
};

// For one unit of work, in its own process. Hard limits: they cannot be raised again.
Result<void> limit_this_process(const ProcessLimits& limits);

}  // namespace kw
