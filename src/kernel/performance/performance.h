#pragma once
// How long a launch plan would take on a GPU, from its PTX alone: a few blocks of the real, full-size launch are run
// in the emulator, what they execute and touch is counted, and formulas turn the counts into time on a device that a
// DeviceProfile describes. The method and its limits: docs/performance-model.md.
//
// What it does not do: check anything (a kernel that is wrong is timed all the same), or look at the machine code (PTX
// instructions are weighted instead).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "kernel/compile/resources.h"
#include "kernel/emulate/emulator.h"
#include "kernel/performance/device_profile.h"

namespace kw {

// One kernel of a plan.
struct ProfiledLaunch {
  const LoadedModule* module = nullptr;
  LaunchArguments arguments;  // the PTX symbol, full-size grid, parameters with addresses in PlanCandidate's memory
  KernelResources resources;  // of the cubin for the profile's architecture; `known` false: registers are guessed
  std::string name;           // for people: "reduce<256>"; empty: the symbol
};

// cudaMemsetAsync and device-to-device copies of a plan.
struct ProfiledTransfer {
  enum class Kind { set, copy };
  Kind kind = Kind::set;
  std::uint64_t bytes = 0;
  // What it does, for those who execute it; the time depends on the bytes alone.
  std::uint64_t target = 0;
  std::uint64_t source = 0;
  std::uint8_t value = 0;
};

using ProfiledStep = std::variant<ProfiledLaunch, ProfiledTransfer>;

// A block of a launch that was run to its end, on real data, and whose values were compared with the truth.
struct ExecutedBlock {
  std::uint64_t number = 0;
  std::uint64_t warp_instructions = 0;
  // Of the elements of all outputs, those that this block was the last to write. Blocks are found by elements drawn at
  // random, so one that writes more is found more often, and work / share of several estimates the whole grid's work.
  double output_share = 0;
};

// A plan with memory to run it in. Make the memory with DeviceMemory::allocate_tiled (inputs: a tile of their contents,
// repeated) and DeviceMemory::allocate_untouched (outputs, scratch): both cost next to nothing at any size. Steps are
// in stream order. The memory must outlive the call; its contents change.
struct PreparedPlan {
  std::unique_ptr<DeviceMemory> memory;
  std::vector<ProfiledStep> steps;
  int allocations = 0;  // of scratch, by the launcher: cudaMallocAsync
  // Brings the memory to the state in which step `i` finds it: what stands before it was executed, as far as the blocks
  // in `executed` need it. Steps are asked for in rising order, each at most once; DeviceMemory::discard_writes() goes
  // back to that state. Empty: the memory is the same for every step, and its contents are made up.
  std::function<Result<void>(std::size_t step)> reach;
  // By step; empty where nothing was executed.
  std::vector<std::vector<ExecutedBlock>> executed;
};

// The same task at some sizes. `prepare` is called at most once, and only when this candidate is needed.
struct PlanCandidate {
  std::string sizes;  // for messages: "n=8192 c=4096"
  double work = 1;  // proportional to the total work (product of the sizes, say); only ratios between candidates count
  std::function<Result<PreparedPlan>()> prepare;
};

struct EstimateOptions {
  std::uint64_t seed = 1;                    // of the choice of blocks; the same seed gives the same estimate
  std::int64_t warp_instructions = 250'000;  // emulated for one kernel launch, about 30-60 ms of one core
  std::size_t distinct_launches = 16;        // launches profiled; equal ones (kernel, shape) are profiled once
  std::size_t hot_lines = 5;
  WorkBudget* budget = nullptr;  // what it costs is charged to it; null: nothing is
  bool chain_slopes = false;     // also count how chains depend on the constants, for a fit; takes ten times as long
};

// One term of the model, in microseconds of the whole plan, as if nothing else limited it.
struct TimeTerm {
  std::string name;  // "dram bandwidth"
  double us = 0;
};

struct HotLine {
  std::string kernel;
  std::uint32_t line = 0;  // in the user's file; 0: unknown
  double share = 0;        // of the plan's cost, 0..1
  std::string reason;      // "each load of a warp touches 32 sectors, 4 would do"
};

struct KernelEstimate {
  std::string name;
  int launches = 1;  // equal ones are put together
  double us = 0;     // of all of them, with launch overhead
  std::string limiter;
  std::vector<TimeTerm> terms;  // of one launch
  double occupancy = 0;         // resident warps / possible ones
  double waves = 0;             // blocks / blocks resident on the whole device
  double dram_bytes = 0;        // of one launch
  double l2_bytes = 0;
  double warp_instructions = 0;       // PTX, whole grid
  double shared_conflict_degree = 1;  // wavefronts per shared access / the fewest possible
  double sectors_per_request = 0;     // global accesses
  std::int64_t emulated_warp_instructions = 0;
  bool extrapolated = false;  // loops were cut short and scaled up
};

struct TimeEstimate {
  double us = 0;
  double low_us = 0;  // the stated uncertainty: the real time should be inside in 9 of 10 cases
  double high_us = 0;
  double slow_us = 0;   // the slow end of what the sampled blocks leave open, which is what a speedup is paid for
  std::string limiter;  // in plain words: "dram bandwidth", "l2 bandwidth", "latency", "issue", "fp32 pipe", "int
                        // pipe", "tensor pipe", "special function pipe", "fp64 pipe", "shared memory", "l1 throughput",
                        // "atomics", "block launches", "launch overhead", "transfers", "allocations"
  double dram_fraction = 0;  // achieved share of the device's achievable DRAM bandwidth
  double occupancy = 0;      // of the kernel that takes the most time; so are waves
  double waves = 0;
  double input_bytes = 0;       // of read-only allocations, that are read: each sector once
  std::vector<TimeTerm> terms;  // summed over the steps, the largest first
  std::vector<HotLine> hot_lines;
  std::vector<KernelEstimate> kernels;  // in order of their first launch
  std::string unknown;             // what it does that the model has no price for: the time means nothing; mostly empty
  std::vector<std::string> notes;  // what made the estimate less sure: "loops were extrapolated", "timed at n=1024"
};

// Uses the first candidate (largest first) whose blocks can be profiled within the budget; when that is not the
// largest, times are scaled by a power law in `work` through the two largest that can. An error when no candidate can:
// an unsupported instruction, a launch that the device refuses.
Result<TimeEstimate> estimate(const DeviceProfile& profile, const std::vector<PlanCandidate>& candidates_largest_first,
                              const EstimateOptions& options = {});

// The same for one plan that is already prepared.
Result<TimeEstimate> estimate_plan(const DeviceProfile& profile, PreparedPlan& plan,
                                   const EstimateOptions& options = {});

}  // namespace kw
