#pragma once
// A launch plan for people and for programs.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kernel/source/launch_plan.h"

namespace kw {

// {"buffers": [...], "steps": [{"step": "launch", "kernel": ..., "grid": [x, y, z], ...}, ...]}
nlohmann::json to_json(const LaunchPlan& plan);

// One line a step: what, grid, block, shared memory, kernel, arguments.
std::string to_table(const LaunchPlan& plan);

// A pointer as "x + 4096", an argument's value as "256" or "0.5".
std::string print(const DevicePointer& pointer, const LaunchPlan& plan);
std::string print(const KernelArgument& argument, const LaunchPlan& plan);

}  // namespace kw
