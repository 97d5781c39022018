// Runs a block: its warps take turns until each waits at a barrier or is done; then barriers are released
// (engine_barrier.cpp).

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "kernel/emulate/async_copy.h"
#include "kernel/emulate/warp.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::int64_t warp_slice = 200'000;   // instructions
constexpr std::int64_t overlapping_slice = 7;  // an odd number, so that loops are not always left at the same place
constexpr std::int64_t waiting_slice = 2'000;  // where a warp may wait for a flag that another one sets

bool all_done(const Block& block) {
  return std::all_of(block.warps.begin(), block.warps.end(), [](const Warp& warp) { return warp.alive == 0; });
}

}  // namespace

std::uint64_t bytes_of_block(const LaunchState& launch) {
  const FunctionCode& kernel = launch.program->functions[0];
  // A byte of shared memory has a shadow, and its part of two race entries a word; narrow accesses take one a byte.
  return launch.warps * (bytes_of_frame(kernel) + sizeof(Warp)) + std::uint64_t{launch.shared_bytes} * 10;
}

std::unique_ptr<Block> make_block(Worker& worker) {
  const LaunchState& launch = *worker.launch;
  const FunctionCode& kernel = launch.program->functions[0];
  // Registers and local memory of its warps, shared memory with its shadows.
  HeldMemory held(launch.options.budget);
  if (!held.add(bytes_of_block(launch))) {
    worker.stop = StopReason::judgement_budget;
    return nullptr;
  }
  auto block = std::make_unique<Block>();
  block->held = std::move(held);
  block->worker = &worker;
  block->warps.resize(launch.warps);
  block->order.resize(launch.warps);
  block->shared_data.resize(launch.shared_bytes + 64);
  block->shared_defined.resize(launch.shared_bytes + 64);
  if (launch.shared_bytes != 0) block->shared_races.reset(launch.shared_bytes);
  for (std::uint32_t i = 0; i < launch.warps; ++i) {
    Warp& warp = block->warps[i];
    warp.block = block.get();
    warp.worker = &worker;
    warp.index = i;
    warp.first_thread = i * warp_lanes;
    std::uint32_t lanes = std::min<std::uint32_t>(warp_lanes, launch.threads - warp.first_thread);
    warp.existing = lanes == warp_lanes ? all_lanes : (1u << lanes) - 1;
    warp.moment.warp = static_cast<RaceEntry>(i << 6);
    warp.entry = make_frame(kernel, warp);
    warp.held_local = HeldMemory(launch.options.budget);
  }
  return block;
}

void begin_block(Block& block, std::uint64_t number) {
  Worker& worker = *block.worker;
  const LaunchState& launch = *worker.launch;
  const auto& grid = launch.arguments.grid;
  block.number = number;
  block.index = {static_cast<std::uint32_t>(number % grid[0]), static_cast<std::uint32_t>(number / grid[0] % grid[1]),
                 static_cast<std::uint32_t>(number / grid[0] / grid[1])};
  block.finished = false;
  block.prints = 0;
  block.copies_async = false;
  block.arrived.fill(0);
  block.arrivers.fill(0);
  tick(worker);
  block.start_time = worker.race_time << race_time_shift;
  block.barrier_time = block.start_time;
  block.acquired_time = launch.interleaved ? block.start_time : worker.launch_time;
  block.released_time = block.start_time;
  block.acquired = false;
  // Unmapped, then each variable mapped and undefined.
  std::memset(block.shared_defined.data(), shared_unmapped, block.shared_defined.size());
  for (const SharedVariable& variable : launch.program->shared) {
    std::uint32_t bytes = variable.dynamic ? launch.arguments.dynamic_shared_bytes : variable.bytes;
    std::memset(block.shared_defined.data() + variable.offset, worker.racy != nullptr ? 1 : 0, bytes);
  }
  std::iota(block.order.begin(), block.order.end(), 0u);
  if (launch.options.warp_order_seed != 0) {
    Random random(launch.options.warp_order_seed, number);
    for (std::size_t i = block.order.size(); i > 1; --i)
      std::swap(block.order[i - 1],
                block.order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  }
  for (Warp& warp : block.warps) {
    warp.alive = warp.existing;
    warp.touched_memory = false;
    warp.turns = 0;
    warp.unfair = 0;
    warp.moment.warp_sync = block.start_time;
    warp.acquired_time = 0;
    warp.partial_time = 0;
    warp.partners = 0;
    warp.copies.clear();
    warp.open_group.fill(0);
    warp.last_barrier.fill(Warp::no_barrier);
    warp.arriving.fill(0);
    warp.exits.clear();
    while (!warp.frames.empty()) {
      warp.spare_frames.push_back(std::move(warp.frames.back()));
      warp.frames.pop_back();
    }
    if (!reserve_local(warp, warp.entry->function->local_bytes)) return;
    warp.entry->inside = warp.existing;
    begin_frame(warp, *warp.entry, all_lanes);
    Split start;
    start.mask = warp.existing;
    start.frame = warp.entry.get();
    warp.splits.assign(1, start);
  }
}

bool run_block(Block& block, std::int64_t slice) {
  Worker& worker = *block.worker;
  worker.current = &block;
  std::int64_t remaining_at_start = worker.remaining;
  const Program& program = *worker.launch->program;
  const bool talks = program.global_atomics || program.shared_atomics || program.shared_flags || program.spins;
  const std::int64_t turn = worker.launch->options.overlap && talks ? overlapping_slice
                            : program.shared_flags || program.spins ? waiting_slice
                                                                    : warp_slice;
  while (worker.stop == StopReason::none) {
    bool ran = false;
    for (std::uint32_t index : block.order) {
      Warp& warp = block.warps[index];
      if (warp.alive == 0) continue;
      ran |= run_warp(warp, turn);
      if (warp.splits.size() > 1) merge_waiting(warp);
      if (worker.stop != StopReason::none) return true;
    }
    if (all_done(block)) break;
    std::uint64_t looked_at = 0;
    for (const Warp& warp : block.warps) looked_at += 1 + warp.splits.size();
    worker.unpaid.units += looked_at * work_cost::barrier_look;
    bool released = release_barriers(block);
    if (!ran && !released) {
      report_deadlock(block);
      worker.deadlocked = true;
      break;
    }
    if (remaining_at_start - worker.remaining > slice) return false;
  }
  for (Warp& warp : block.warps) {
    finish_copies(warp);
    if (worker.racy != nullptr) end_guesses(*worker.racy, &warp);
  }
  end_releases(block);
  block.finished = true;
  return true;
}

}  // namespace kw
