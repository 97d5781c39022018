#include "kernel/emulate/launch.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/parallel_for.h"
#include "base/random.h"
#include "kernel/emulate/block_order.h"
#include "kernel/emulate/memory_snapshot.h"
#include "kernel/emulate/racy_values.h"
#include "kernel/emulate/warp.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::int64_t spinning_slice =
    40'000;  // warp instructions of a block, before it is suspected to wait for another one
constexpr std::int64_t cooperative_slice = 2'000;  // a grid-wide barrier is likely: who waits should not wait long
constexpr std::int64_t atomic_slice = 4'000'000;   // without volatile loads waiting is unlikely
constexpr std::int64_t longest_overlap = 200;      // of blocks that are to overlap
constexpr std::size_t overlapping_limit = 6;
constexpr std::int64_t unlimited_slice = std::int64_t{1} << 60;
constexpr std::size_t resident_limit = 256;  // blocks under way at once
constexpr std::uint64_t resident_limit_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t grid_limit = std::uint64_t{1} << 31;
constexpr std::uint32_t block_limit = 1024;

// What cudaLaunchKernel or the driver would refuse.
std::string launch_problem(const Program& program, const LaunchArguments& arguments, const RunLimits& limits) {
  const auto& grid = arguments.grid;
  const auto& block = arguments.block;
  for (int i = 0; i < 3; ++i)
    if (grid[i] == 0 || block[i] == 0)
      return fmt::format("grid ({},{},{}) and block ({},{},{}) must not have a zero", grid[0], grid[1], grid[2],
                         block[0], block[1], block[2]);
  if (grid[1] > 65535 || grid[2] > 65535 || grid[0] > 0x7fffffffu)
    return fmt::format("grid ({},{},{}) is too large", grid[0], grid[1], grid[2]);
  std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  if (block[0] > block_limit || block[1] > block_limit || block[2] > 64 || threads > block_limit)
    return fmt::format("a block of {} x {} x {} threads is over the limit of {}", block[0], block[1], block[2],
                       block_limit);
  std::uint64_t most = 1, exactly = 1;
  bool limited = program.max_threads[0] != 0, required = program.required_threads[0] != 0;
  for (int i = 0; i < 3; ++i) {
    most *= std::max<std::uint32_t>(program.max_threads[i], 1);
    exactly *= std::max<std::uint32_t>(program.required_threads[i], 1);
  }
  if (limited && threads > most)
    return fmt::format("the kernel's __launch_bounds__ allow {} threads a block, {} are launched", most, threads);
  if (required && threads != exactly)
    return fmt::format("the kernel requires {} threads a block, {} are launched", exactly, threads);
  std::uint64_t shared = std::uint64_t{program.static_shared_bytes} + arguments.dynamic_shared_bytes;
  if (shared > limits.shared_bytes)
    return fmt::format("{} bytes of shared memory are over the limit of {} bytes a block", shared, limits.shared_bytes);
  if (std::uint64_t{grid[0]} * grid[1] * grid[2] > grid_limit)
    return "more than 2^31 blocks are too many for the emulator";
  return "";
}

Result<std::vector<std::byte>> parameter_block(const Program& program, const LaunchArguments& arguments) {
  if (arguments.parameters.size() != program.parameters.size())
    return Error{fmt::format("{} has {} parameters, {} were given", program.kernel, program.parameters.size(),
                             arguments.parameters.size()),
                 "",
                 {}};
  std::vector<std::byte> bytes(program.parameter_bytes + 64);
  for (std::size_t i = 0; i < arguments.parameters.size(); ++i) {
    const PtxVariable& parameter = program.parameters[i];
    std::uint64_t wanted =
        parameter.bytes != 0 ? parameter.bytes : static_cast<std::uint64_t>(bytes_of(parameter.type));
    if (arguments.parameters[i].size() != wanted)
      return Error{fmt::format("parameter {} of {} has {} bytes, {} were given", i, program.kernel, wanted,
                               arguments.parameters[i].size()),
                   "",
                   {}};
    std::memcpy(bytes.data() + program.parameter_offsets[i], arguments.parameters[i].data(), wanted);
  }
  return bytes;
}

std::unique_ptr<Worker> make_worker(LaunchState& launch) {
  auto worker = std::make_unique<Worker>();
  worker->launch = &launch;
  VectorUnit unit = best_vector_unit();
  worker->find_shape = shape_function(unit);
  worker->race_read = race_read_function(unit);
  worker->race_write = race_write_function(unit);
  worker->held = HeldMemory(launch.options.budget);
  worker->caches.assign(launch.program->inline_caches + 1, {});
  worker->lines.assign(launch.program->inline_caches + 1, {});
  worker->counts.assign(launch.program->origins.size(), {});
  worker->races.resize(launch.memory->allocations().size());
  worker->log = FindingLog(launch.limits.findings);
  worker->suspects = FindingLog(launch.limits.findings);
  worker->remaining = launch.limits.warp_instructions;
  worker->race_time = 2;
  worker->launch_time = 2 << race_time_shift;
  return worker;
}

// One block after the other. Where a block seems to wait for another one, it is put aside and the next begins.
void run_blocks(Worker& worker, BlockQueue& queue, std::uint64_t at_once = 1) {
  LaunchState& launch = *worker.launch;
  std::vector<std::uint64_t> taken;  // the next one last
  const auto next_block = [&]() -> std::optional<std::uint64_t> {
    if (taken.empty()) {
      taken = queue.take_run(at_once);
      std::reverse(taken.begin(), taken.end());
    }
    if (taken.empty()) return std::nullopt;
    const std::uint64_t number = taken.back();
    taken.pop_back();
    return number;
  };
  std::int64_t slice = launch.arguments.cooperative     ? cooperative_slice
                       : launch.program->spins          ? spinning_slice
                       : launch.program->global_atomics ? atomic_slice
                                                        : unlimited_slice;
  // Blocks that wait for each other must all be under way.
  const bool overlap = launch.options.overlap && launch.program->global_atomics && !launch.program->spins &&
                       !launch.arguments.cooperative;
  if (queue.size() == 1 && !overlap) slice = unlimited_slice;
  Random random(launch.options.block_order_seed, launch.options.warp_order_seed);
  const std::uint64_t resident = std::min<std::uint64_t>(
      overlap ? overlapping_limit : resident_limit,
      std::max<std::uint64_t>(
          resident_limit_bytes / (bytes_of_block(launch) + std::uint64_t{launch.program->functions[0].local_bytes} *
                                                               warp_lanes * 2 * launch.warps),
          2));
  const std::uint64_t units = block_units(launch);
  std::vector<std::unique_ptr<Block>> waiting;
  std::unique_ptr<Block> fresh;
  std::size_t turn = 0;
  while (worker.stop == StopReason::none) {
    Block* block = nullptr;
    // In turns: one of those put aside, then a new one.
    std::optional<std::uint64_t> number;
    if (waiting.empty() || (waiting.size() < resident && turn >= waiting.size())) number = next_block();
    if (!number && waiting.empty()) return;
    const bool begin = number.has_value();
    if (begin) {
      if (fresh == nullptr) fresh = make_block(worker);
      if (fresh == nullptr) return;
      worker.unpaid.block_units += units;
      ++worker.unpaid.blocks;
      if (worker.unpaid.block_units + worker.unpaid.units > paying_units && !pay(worker)) return;
      block = fresh.get();
      worker.resident.push_back(block);
      worker.current = block;
      begin_block(*block, *number);
      if (worker.stop != StopReason::none) return;
      turn = 0;
    } else {
      if (turn >= waiting.size()) turn = 0;
      block = waiting[turn].get();
      worker.current = block;
      // What other blocks did meanwhile counts as ordered: time alone cannot tell whose it was.
      order_block(*block);
    }
    if (overlap) slice = random.integer(1, longest_overlap);
    bool finished = run_block(*block, slice);
    if (finished) {
      std::erase(worker.resident, block);
      if (!begin) {
        fresh = std::move(waiting[turn]);
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(turn));
      }
      continue;
    }
    if (begin) {
      waiting.push_back(std::move(fresh));
      launch.interleaved = true;
      turn = waiting.size();
    } else {
      ++turn;
    }
  }
}

// In one part of an allocation: has one worker's block written what another's has touched?
bool workers_race_in(const std::vector<const RaceGranules*>& all, std::size_t begin, std::size_t end) {
  constexpr std::size_t piece = 2048;
  std::array<std::uint8_t, piece> users, written;
  for (std::size_t start = begin; start < end; start += piece) {
    const std::size_t count = std::min(piece, end - start);
    users.fill(0);
    written.fill(0);
    for (const RaceGranules* each : all) {
      const RaceEntry* writers = each->writers.data() + start;
      const RaceEntry* readers = each->readers.data() + start;
      for (std::size_t k = 0; k < count; ++k) {
        users[k] = static_cast<std::uint8_t>(users[k] + ((writers[k] | readers[k]) != 0 ? 1 : 0));
        written[k] = static_cast<std::uint8_t>(written[k] | (writers[k] != 0 ? 1 : 0));
      }
    }
    int conflict = 0;
    for (std::size_t k = 0; k < count; ++k)
      conflict |= static_cast<int>(written[k] != 0) & static_cast<int>(users[k] > 1);
    if (conflict != 0) return true;
  }
  return false;
}

bool workers_race(std::vector<std::unique_ptr<Worker>>& workers) {
  constexpr std::size_t worth_a_thread = 1 << 17;  // granules
  for (std::size_t i = 0; i < workers[0]->races.size(); ++i) {
    std::vector<const RaceGranules*> all;
    int shift = 2;
    for (const auto& worker : workers)
      if (!worker->races[i].empty()) shift = std::min(shift, worker->races[i].shift);
    std::size_t count = 0;
    for (const auto& worker : workers) {
      if (worker->races[i].empty()) continue;
      worker->races[i].refine(shift);
      count = count == 0 ? worker->races[i].writers.size() : std::min(count, worker->races[i].writers.size());
      all.push_back(&worker->races[i]);
    }
    if (all.size() < 2) continue;
    const std::size_t parts = std::clamp<std::size_t>(count / worth_a_thread, 1, workers.size());
    std::atomic<bool> conflict = false;
    parallel_for(parts, static_cast<int>(parts), [&](std::size_t part) {
      if (workers_race_in(all, count * part / parts, count * (part + 1) / parts)) conflict = true;
    });
    if (conflict) return true;
  }
  return false;
}

// Blocks spread over host threads. Empty when anything was found or might have been missed: then the memory is as
// before and the blocks run one after the other, so that the result never depends on the number of threads.
std::vector<std::unique_ptr<Worker>> run_in_parallel(LaunchState& launch, const BlockOrder& order) {
  // The attempt has an account of its own: what is repeated in order must not be paid for twice, or else a verdict
  // would depend on the number of threads.
  WorkBudget* const budget = launch.options.budget;
  std::optional<WorkBudget> attempt;
  if (budget != nullptr) {
    attempt.emplace(WorkLimits{budget->left(), budget->memory_left(), budget->wall_left()});
    if (!attempt->hold(MemorySnapshot::bytes_of(*launch.memory))) return {};
    launch.options.budget = &*attempt;
  }
  const auto give_up = [&] {
    launch.options.budget = budget;
    launch.interleaved = false;
    return std::vector<std::unique_ptr<Worker>>();
  };
  const MemorySnapshot snapshot(*launch.memory);
  auto count = static_cast<std::size_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(launch.options.threads), order.size()));
  BlockQueue queue(order);
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t i = 0; i < count; ++i) workers.push_back(make_worker(launch));
  // Enough portions for an even load, and each large enough to be worth its place in the caches.
  const std::uint64_t at_once = std::clamp<std::uint64_t>(order.size() / (count * 16), 1, 256);
  parallel_for(count, static_cast<int>(count), [&](std::size_t i) { run_blocks(*workers[i], queue, at_once); });
  std::int64_t used = 0;
  bool clean = true;
  for (const auto& worker : workers) {
    clean &= pay(*worker) && worker->stop == StopReason::none && worker->log.empty() && worker->suspects.empty();
    used += launch.limits.warp_instructions - worker->remaining;
  }
  if (!clean || used > launch.limits.warp_instructions || workers_race(workers)) {
    snapshot.restore();
    for (const auto& worker : workers) worker->held.release();
    workers.clear();
    return give_up();
  }
  for (const auto& worker : workers) worker->held.release();
  launch.options.budget = budget;
  for (const WorkKind kind : {WorkKind::blocks, WorkKind::instructions})
    if (attempt && !budget->charge(kind, attempt->amount_of(kind), attempt->spent_on(kind))) break;
  return workers;
}

RunStatus status_of(const Worker& worker) {
  using K = FindingKind;
  auto any = [&](std::initializer_list<K> kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [&](K kind) { return worker.log.has(kind); });
  };
  if (worker.stop == StopReason::unsupported) return RunStatus::unsupported;
  if (any({K::device_call})) return RunStatus::rejected;
  if (any({K::out_of_bounds, K::misaligned, K::null_pointer, K::use_after_free, K::input_overwritten, K::stack_overflow,
           K::trap}))
    return RunStatus::fault;
  if (any({K::barrier_divergence, K::barrier_deadlock, K::warp_sync_divergence, K::warp_sync_mask}))
    return RunStatus::synchronization;
  if (any({K::shared_race, K::global_race})) return RunStatus::race;
  if (any({K::uninitialised_address, K::uninitialised_branch})) return RunStatus::uninitialised;
  if (worker.stop == StopReason::budget || worker.stop == StopReason::judgement_budget) return RunStatus::timeout;
  if (worker.stop != StopReason::none || any({K::cut_short})) return RunStatus::fault;  // it did not get to its end
  if (worker.deadlocked) return RunStatus::synchronization;  // a profiling run finds nothing, and yet knows
  return RunStatus::ok;
}

// Reads that race have been collected: does anything depend on what they read? Runs the launch once more; the memory is
// afterwards as the first run left it.
bool racing_reads_matter(LaunchState& launch, const Worker& first, const BlockOrder& order,
                         const MemorySnapshot& before) {
  if (first.later_writes.overflown()) return true;
  for (const auto& allocation : launch.memory->allocations())
    if (allocation->right == MemoryAccessRight::read_write) allocation->pristine = false;
  const MemorySnapshot after(*launch.memory);
  before.restore();
  AccessObserver* const observer = std::exchange(launch.options.observer, nullptr);
  launch.interleaved = false;
  const std::unique_ptr<Worker> second = make_worker(launch);
  second->racy = std::make_unique<RacyValues>();
  second->racy->later = &first.later_writes;
  BlockQueue queue(order);
  run_blocks(*second, queue);
  pay(*second);
  launch.options.observer = observer;
  after.restore();
  return racy_values_were_used(*second->racy);
}

// Everything in the launch's order, in one thread.
std::unique_ptr<Worker> run_in_order(LaunchState& launch, const BlockOrder& order) {
  std::optional<MemorySnapshot> before;
  // Memory that is mapped, gigabytes perhaps, is not copied: reads that race then count as used.
  const auto& allocations = launch.memory->allocations();
  const bool mapped = std::any_of(allocations.begin(), allocations.end(), [](const auto& allocation) {
    return !allocation->freed && allocation->right == MemoryAccessRight::read_write && allocation->lazy != nullptr;
  });
  const std::uint64_t bytes = MemorySnapshot::bytes_of(*launch.memory);
  WorkBudget* const budget = launch.options.budget;
  HeldMemory held(budget);
  // Two of them are needed, one before and one after. Where there is no memory for them such reads count as used, too.
  const bool fits = budget == nullptr || (budget->memory_left() / 2 > bytes && held.add(2 * bytes));
  std::unique_ptr<Worker> worker = make_worker(launch);
  const bool races = launch.options.look_for_races && !launch.options.profiling;
  if (races && !mapped && fits) before.emplace(*launch.memory);
  BlockQueue queue(order);
  run_blocks(*worker, queue);
  pay(*worker);
  if (worker->suspects.empty()) return worker;
  const RunStatus status = status_of(*worker);
  const bool open = status == RunStatus::ok || status == RunStatus::uninitialised || status == RunStatus::timeout;
  // Where something worse is wrong the verdict is made already.
  if (!open || !before || racing_reads_matter(launch, *worker, order, *before)) worker->log.take(worker->suspects);
  return worker;
}

std::optional<EmulatorFinding> stray_finding(const std::vector<std::unique_ptr<Worker>>& workers) {
  for (const auto& worker : workers) {
    const StrayShuffle& stray = worker->stray;
    if (stray.instruction == nullptr) continue;
    EmulatorFinding finding;
    finding.kind = FindingKind::warp_sync_divergence;
    const PtxOrigin& where = worker->launch->program->origins[stray.instruction->origin].where;
    finding.line = where.line;
    finding.column = where.column;
    finding.ptx_line = where.ptx_line;
    finding.kernel = worker->launch->program->kernel;
    finding.block = stray.block;
    finding.thread = stray.thread;
    finding.message = stray_text(stray);
    finding.advice = advice_for(finding.kind);
    return finding;
  }
  return std::nullopt;
}

void add_statistics(const Worker& worker, RunStatistics& statistics) {
  statistics.counts.resize(worker.counts.size());
  for (std::size_t i = 0; i < worker.counts.size(); ++i) {
    statistics.counts[i].warps += worker.counts[i].warps;
    statistics.counts[i].lanes += worker.counts[i].lanes;
    statistics.warp_instructions += worker.counts[i].warps;
    statistics.thread_instructions += worker.counts[i].lanes;
  }
}

// A launch that cannot end within its budgets is not begun: the blocks alone may be two thousand million.
bool can_end(const LaunchState& launch, std::uint64_t blocks, RunResult& result) {
  const std::uint64_t warps = blocks * launch.warps;
  if (warps > static_cast<std::uint64_t>(std::max<std::int64_t>(launch.limits.warp_instructions, 0))) {
    EmulatorFinding finding;
    finding.kind = FindingKind::endless_loop;
    finding.kernel = launch.program->kernel;
    finding.message = fmt::format("a launch of {} blocks of {} warps cannot end within {} warp instructions", blocks,
                                  launch.warps, launch.limits.warp_instructions);
    finding.advice = advice_for(finding.kind);
    result.findings.push_back(std::move(finding));
    return false;
  }
  WorkBudget* const budget = launch.options.budget;
  return budget == nullptr || budget->affords(WorkKind::blocks, blocks,
                                              blocks * block_units(launch) + warps * work_cost::simple_instruction);
}

}  // namespace

Result<RunResult> run_launch(const Program& program, DeviceMemory& memory, const LaunchArguments& arguments,
                             const RunLimits& limits, const RunOptions& options) {
  RunResult result;
  if (std::string problem = launch_problem(program, arguments, limits); !problem.empty()) {
    EmulatorFinding finding;
    finding.kind = FindingKind::launch_error;
    finding.kernel = program.kernel;
    finding.message = problem;
    result.status = RunStatus::launch_error;
    result.findings.push_back(std::move(finding));
    return result;
  }
  LaunchState launch;
  KW_TRY(launch.parameters, parameter_block(program, arguments));
  launch.program = &program;
  launch.memory = &memory;
  launch.arguments = arguments;
  launch.limits = limits;
  launch.options = options;
  launch.threads = arguments.block[0] * arguments.block[1] * arguments.block[2];
  launch.warps = (launch.threads + warp_lanes - 1) / warp_lanes;
  launch.shared_bytes =
      program.shared_window_bytes + (program.uses_dynamic_shared ? arguments.dynamic_shared_bytes : 0);

  if (arguments.cooperative) {
    if (memory.find(grid_workspace_address) == nullptr)
      KW_TRY_VOID(
          memory.map(grid_workspace_address, grid_workspace_bytes, "grid workspace", MemoryAccessRight::read_write));
    KW_TRY_VOID(memory.fill(grid_workspace_address, 0, grid_workspace_bytes));
  }
  const std::uint64_t blocks = std::uint64_t{arguments.grid[0]} * arguments.grid[1] * arguments.grid[2];
  bool independent = !program.global_atomics && !program.spins && !program.reads_clock && options.observer == nullptr;
  const BlockOrder order(blocks, options.block_order_seed, options.only_blocks);
  // The state before it is kept in any case: for another try in order, and to see which racing reads matter.
  const std::uint64_t snapshot = byte_units(MemorySnapshot::bytes_of(memory));
  const bool paid =
      options.budget == nullptr || options.budget->charge(WorkKind::launches, 1, launch_units(launch) + snapshot);
  if (!paid || (options.only_blocks.empty() && !can_end(launch, blocks, result))) {
    result.status = RunStatus::timeout;
    return result;
  }
  std::vector<std::unique_ptr<Worker>> workers;
  if (options.threads > 1 && independent && order.size() > 1) workers = run_in_parallel(launch, order);
  if (workers.empty()) {
    workers.push_back(run_in_order(launch, order));
  }
  for (const auto& allocation : memory.allocations())
    if (allocation->right == MemoryAccessRight::read_write) allocation->pristine = false;
  result.status = status_of(*workers[0]);
  result.findings = workers[0]->log.findings();
  result.unsupported = workers[0]->unsupported;
  result.stray_shuffle = stray_finding(workers);
  for (const auto& worker : workers) add_statistics(*worker, result.statistics);
  result.statistics.blocks = order.size();
  return result;
}

}  // namespace kw
