#pragma once
// A whole launch: checks what the driver would check, runs the blocks, gives the verdict.

#include "kernel/emulate/emulator.h"

namespace kw {

Result<RunResult> run_launch(const Program& program, DeviceMemory& memory, const LaunchArguments& arguments,
                             const RunLimits& limits, const RunOptions& options);

}  // namespace kw
