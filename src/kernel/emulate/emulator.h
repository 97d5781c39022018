#pragma once
// Runs CUDA kernels, given as PTX, on the CPU, with every check on. A module is parsed and decoded once and then run as
// often as wanted, from several threads; all state of a run is in the DeviceMemory that it is given.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work_budget.h"
#include "kernel/emulate/device_memory.h"
#include "kernel/emulate/finding.h"
#include "kernel/emulate/program.h"

namespace kw {

struct LaunchArguments {
  std::string kernel;  // the symbol in the PTX
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;             // all blocks are under way at once, so that they may wait for each other
  std::vector<std::string> parameters;  // the bytes of each, pointers as device addresses
};

struct RunLimits {
  std::int64_t warp_instructions = 400'000'000;
  std::uint64_t faulting_instructions = 20'000;  // then the run ends: every further one is slow and says nothing new
  std::size_t findings = 20;
  std::uint32_t shared_bytes = 227 << 10;  // of a block, static and dynamic
};

class AccessObserver;

struct RunOptions {
  std::uint64_t warp_order_seed = 0;  // 0: in order; otherwise a permutation
  std::uint64_t block_order_seed = 0;
  int threads = 1;                         // host threads, used when the blocks are independent
  std::vector<std::uint64_t> only_blocks;  // linear numbers, for sampling; empty: all
  AccessObserver* observer = nullptr;      // with one thread only
  WorkBudget* budget = nullptr;            // what the run costs is charged to it; when it is used up, the run times out
  // An asynchronous copy may land at any moment between its issue and the wait: at the issue, or (false) at the wait.
  bool copies_land_early = false;
  // Blocks are interrupted after a few instructions, and so are warps, so that they overlap as they do on a GPU: for
  // kernels whose blocks or warps talk to each other. How, depends on the two orders.
  bool overlap = false;
  // False: for blocks of a launch of which not all are run, in memory of full size; everything else is checked.
  bool look_for_races = true;
  // To count, not to judge: nothing is found (wrong accesses are left out, undefined values are values), races are not
  // looked for, and matrix products are not computed.
  bool profiling = false;
  bool compute_products = false;  // while profiling: they are computed all the same
  bool skips_products() const { return profiling && !compute_products; }
};

enum class RunStatus : std::uint8_t {
  ok,
  fault,  // out of bounds, misaligned, null, use after free, trap, input overwritten, stack
  race,
  synchronization,  // barrier divergence, deadlock, warp sync
  uninitialised,
  timeout,       // the instruction budget, or the judgement's
  unsupported,   // an instruction that is not emulated: says nothing about the kernel
  rejected,      // device printf, malloc
  launch_error,  // what cudaLaunchKernel would refuse
};
std::string_view name_of(RunStatus status);

// Executions of one static instruction.
struct InstructionCount {
  std::uint64_t warps = 0;
  std::uint64_t lanes = 0;
};

struct RunStatistics {
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t blocks = 0;
  std::vector<InstructionCount> counts;  // by index into Program::origins
};

struct RunResult {
  RunStatus status = RunStatus::ok;
  std::vector<EmulatorFinding> findings;  // also notes, which leave the status ok
  std::string unsupported;                // the instruction, when that is the status
  // A shuffle took the value of a lane that was not there: what to blame if an output turns out undefined.
  std::optional<EmulatorFinding> stray_shuffle;
  RunStatistics statistics;
};

class LoadedModule {
 public:
  // What reading and decoding costs is charged to the budget, if there is one; it must outlive the module.
  static Result<LoadedModule> load(std::string_view ptx, std::string_view user_file = "kernel.cu",
                                   WorkBudget* budget = nullptr);
  static Result<LoadedModule> from(PtxModule module);
  LoadedModule(LoadedModule&&) noexcept;
  LoadedModule& operator=(LoadedModule&&) noexcept;
  ~LoadedModule();

  std::vector<std::string> kernels() const;
  // The executable form of a kernel; decoded at the first use.
  Result<const Program*> program(std::string_view kernel) const;
  // Gives the module's __device__ and __constant__ variables their place and content; done by run when it has not been
  // done.
  Result<void> place_variables(DeviceMemory& memory) const;

  // An error only for misuse (no such kernel, wrong parameters); what the kernel does wrong is in the result.
  Result<RunResult> run(DeviceMemory& memory, const LaunchArguments& arguments, const RunLimits& limits = {},
                        const RunOptions& options = {}) const;

 private:
  struct State;
  explicit LoadedModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw
