#pragma once
// What a launcher would do, found by interpreting its host code for given sizes. Nothing of the user's is executed: the
// interpreter knows a bounded part of C++ and of the CUDA runtime, and names what it does not know.

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "base/work_budget.h"
#include "kernel/source/kernel_file.h"
#include "kernel/source/launch_plan.h"
#include "kernel/task/task.h"

namespace kw {

// What the launcher can ask about the device, and what a launch may use. The default is an H200.
struct LaunchDevice {
  int multiprocessors = 132;
  int compute_major = 9;
  int compute_minor = 0;
  int warp_threads = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 2048;
  int max_blocks_per_multiprocessor = 32;
  int registers_per_multiprocessor = 65536;
  std::uint32_t shared_bytes_default = 48u << 10;  // a launch may use this without asking
  std::uint32_t shared_bytes_optin = 227u << 10;   // after cudaFuncSetAttribute
  std::uint32_t shared_bytes_per_multiprocessor = 228u << 10;
  std::uint32_t l2_bytes = 60u << 20;
};

struct PlanLimits {
  std::int64_t max_steps = 1'000'000;                         // evaluated expressions and statements
  std::int64_t max_launches = 10'000;                         // launches, copies, memsets, allocations together
  std::uint64_t max_scratch_bytes = std::uint64_t{32} << 30;  // allocated at the same time
  std::int64_t max_array_elements = 65'536;
  std::int64_t max_variables = 200'000;
  int max_call_depth = 100;
  WorkBudget* budget = nullptr;  // steps and the plan's memory are charged to it; null: they are free
  LaunchDevice device;
};

// The values of the task's scalar inputs by name; one that is missing counts as 1.
using ScalarInputs = std::map<std::string, double>;

Result<LaunchPlan> make_launch_plan(const KernelFile& file, const Task& task, const Sizes& sizes,
                                    const PlanLimits& limits = {}, const ScalarInputs& scalars = {});

}  // namespace kw
