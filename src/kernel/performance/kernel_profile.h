#pragma once
// Counts of one launch, from some of its blocks, and of each of its instructions.

#include <memory>

#include "kernel/performance/kernel_counts.h"
#include "kernel/performance/performance.h"
#include "kernel/performance/static_code.h"

namespace kw {

// Of one static instruction, for an average block.
struct InstructionProfile {
  double executions = 0;  // of warps
  double lanes = 0;
  double requests = 0;  // accesses to memory, all spaces
  double sectors = 0;
  double fewest_sectors = 0;
  double missed_sectors = 0;
  double l1_cycles = 0;
  double wavefronts = 0;
  double fewest_wavefronts = 0;
  double same_address = 0;  // sum over the requests
};

struct KernelProfile : KernelCounts {
  std::unique_ptr<StaticCode> code;
  std::vector<InstructionProfile> instructions;  // of an average block, as StaticCode has them
};

// What is known of a launch besides its arguments.
struct LaunchContents {
  bool real = false;                      // the memory holds what the launch would find there
  std::vector<ExecutedBlock> executed{};  // blocks whose work is known
};

// An error when the launch is impossible or cannot be emulated.
Result<KernelProfile> profile_kernel(const DeviceProfile& device, DeviceMemory& memory, const ProfiledLaunch& launch,
                                     const EstimateOptions& options, const LaunchContents& contents = {});

}  // namespace kw
