#pragma once
// Values are checked at sizes that can be emulated as a whole; time is modelled at full size. A kernel that does less
// there would look fast and right. So blocks of the full-size launch, chosen in secret, are run and compared with what
// the checked runs did: they may take no path that was never checked, and must store and load as much.

#include <optional>

#include "emulate/path_coverage.h"
#include "judge/kernel_build.h"
#include "judge/verdict.h"

namespace kw {

// What the checked runs did.
struct CheckedWork {
  PathCoverage coverage;
  // The smallest ratios over the checked cases.
  double stored_ratio = 1e300;  // stored by kernels / bytes of the outputs
  double loaded_ratio = 1e300;  // loaded / bytes of the inputs
  double storing_share = 1;     // of the last launch's blocks, those that store to outputs
  bool blocks_apart = true;     // no two blocks began with the same element
};

// What speaks against the kernel; nothing when it does at full size what was checked. `new_path`: its results there
// could not be checked at all.
std::optional<VerdictFinding> check_full_size(const Task& task, const KernelBuild& build, const LoadedModule& module,
                                              const SizedPlan& full_size, const CheckedWork& checked,
                                              std::uint64_t secret_seed, WorkBudget* budget = nullptr);

}  // namespace kw
