// Runs a block: its warps take turns until each waits at a barrier or is done; then barriers are released.

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/random.h"
#include "emulate/async_copy.h"
#include "emulate/warp.h"
#include "emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::int64_t warp_slice = 200'000;  // instructions: warps that spin on a flag let the others run

std::uint32_t count(LaneMask mask) { return static_cast<std::uint32_t>(__builtin_popcount(mask)); }

std::uint32_t alive_threads(const Block& block) {
  std::uint32_t threads = 0;
  for (const Warp& warp : block.warps) threads += count(warp.alive);
  return threads;
}

struct Waiting {
  std::uint32_t threads = 0;
  std::uint32_t expected = 0;  // 0: all
  const Instruction* first = nullptr;
  Warp* first_warp = nullptr;
  LaneMask first_lanes = 0;
  const Instruction* other = nullptr;  // a wait at another source line
  Warp* other_warp = nullptr;
  LaneMask other_lanes = 0;
};

bool same_place(const Warp& warp, const Instruction& a, const Instruction& b) {
  const PtxOrigin& first = origin_of(warp, a).where;
  const PtxOrigin& second = origin_of(warp, b).where;
  // The compiler may copy a barrier (unrolled loops): the place in the source decides.
  return &a == &b || (first.line != 0 && first.line == second.line && first.column == second.column);
}

const Instruction& instruction_at(const Split& split) { return split.frame->function->code[split.pc]; }

Waiting waiting_at(Block& block, std::uint32_t id) {
  Waiting waiting;
  for (Warp& warp : block.warps) {
    for (Split& split : warp.splits) {
      if (split.mask == 0 || split.state != SplitState::at_barrier || split.barrier != id) continue;
      const Instruction& in = instruction_at(split);
      waiting.threads += count(split.mask);
      if (waiting.expected == 0) waiting.expected = split.barrier_count;
      if (waiting.first == nullptr) {
        waiting.first = &in;
        waiting.first_warp = &warp;
        waiting.first_lanes = split.mask;
      } else if (waiting.other == nullptr && !same_place(warp, *waiting.first, in)) {
        waiting.other = &in;
        waiting.other_warp = &warp;
        waiting.other_lanes = split.mask;
      }
    }
  }
  return waiting;
}

void write_reduction(Block& block, std::uint32_t id) {
  std::uint32_t set = 0, clear = 0;
  LaneMask undefined = 0;
  auto for_each_reduction = [&](auto&& visit) {
    for (Warp& warp : block.warps) {
      for (Split& split : warp.splits) {
        if (split.mask == 0 || split.state != SplitState::at_barrier || split.barrier != id) continue;
        const BarrierUse& use = split.frame->function->barriers[instruction_at(split).detail];
        if (use.predicate != no_predicate) visit(split, use);
      }
    }
  };
  for_each_reduction([&](Split& split, const BarrierUse& use) {
    LaneMask value = split.frame->predicates[use.predicate];
    if (use.predicate_negated) value = ~value;
    set += count(value & split.mask);
    clear += count(~value & split.mask);
    undefined |= split.frame->predicates_undefined[use.predicate] & split.mask;
  });
  for_each_reduction([&](Split& split, const BarrierUse& use) {
    Frame& frame = *split.frame;
    LaneMask unknown = undefined != 0 ? split.mask : 0;
    if (use.kind == BarrierUse::Kind::reduce_popc) {
      auto* lanes = reinterpret_cast<std::uint32_t*>(frame.registers + use.result);
      for (LaneMask left = split.mask; left != 0; left &= left - 1) lanes[__builtin_ctz(left)] = set;
      LaneMask& mark = frame.undefined[use.result / slot_bytes];
      mark = (mark & ~split.mask) | unknown;
      return;
    }
    bool result = use.kind == BarrierUse::Kind::reduce_and ? clear == 0 : set != 0;
    LaneMask& target = frame.predicates[use.result_predicate];
    target = result ? target | split.mask : target & ~split.mask;
    LaneMask& mark = frame.predicates_undefined[use.result_predicate];
    mark = (mark & ~split.mask) | unknown;
  });
}

void release(Block& block, std::uint32_t id) {
  write_reduction(block, id);
  for (Warp& warp : block.warps) {
    for (Split& split : warp.splits) {
      if (split.mask == 0 || split.state != SplitState::at_barrier || split.barrier != id) continue;
      split.state = SplitState::ready;
      ++split.pc;
    }
  }
  block.arrived[id] = 0;
  order_block(block);
}

std::string place_text(const Warp& warp, const Instruction& in) {
  return fmt::format("line {} ({})", origin_of(warp, in).where.line, origin_of(warp, in).form);
}

void check_divergence(Block& block, std::uint32_t id, const Waiting& waiting) {
  Warp& warp = *waiting.first_warp;
  int lane = __builtin_ctz(waiting.first_lanes);
  if (waiting.expected != 0) return;  // with a number of threads any place may take part
  if (waiting.other != nullptr) {
    report(*waiting.other_warp, FindingKind::barrier_divergence, *waiting.other, __builtin_ctz(waiting.other_lanes), 0,
           fmt::format("{} waits at the barrier of {} while {} waits at {}",
                       thread_text(*waiting.other_warp, __builtin_ctz(waiting.other_lanes)),
                       place_text(warp, *waiting.other), thread_text(warp, lane), place_text(warp, *waiting.first)));
    return;
  }
  std::uint32_t threads = block.worker->launch->threads;
  std::uint32_t alive = alive_threads(block);
  if (alive == threads || id != 0) return;
  for (const Warp& other : block.warps) {
    LaneMask gone = other.existing & ~other.alive;
    if (gone == 0) continue;
    report(
        warp, FindingKind::barrier_divergence, *waiting.first, lane, 0,
        fmt::format("{} threads of the block have left the kernel (the first: {}) while {} waits at the barrier of {}",
                    threads - alive, thread_text(other, __builtin_ctz(gone)), thread_text(warp, lane),
                    place_text(warp, *waiting.first)));
    return;
  }
}

bool release_barriers(Block& block) {
  bool released = false;
  for (std::uint32_t id = 0; id < block.arrived.size(); ++id) {
    Waiting waiting = waiting_at(block, id);
    if (waiting.threads == 0) continue;
    std::uint32_t expected = waiting.expected != 0 ? waiting.expected : alive_threads(block);
    if (waiting.threads + block.arrived[id] < expected) continue;
    check_divergence(block, id, waiting);
    release(block, id);
    released = true;
  }
  return released;
}

// Nobody can go on.
void report_deadlock(Block& block) {
  for (std::uint32_t id = 0; id < block.arrived.size(); ++id) {
    Waiting waiting = waiting_at(block, id);
    if (waiting.threads == 0) continue;
    std::uint32_t expected = waiting.expected != 0 ? waiting.expected : alive_threads(block);
    Warp& warp = *waiting.first_warp;
    int lane = __builtin_ctz(waiting.first_lanes);
    std::string others;
    for (std::uint32_t other = 0; other < block.arrived.size(); ++other) {
      if (other == id) continue;
      Waiting elsewhere = waiting_at(block, other);
      if (elsewhere.threads == 0) continue;
      others = fmt::format("; {} threads wait at barrier {} of {}", elsewhere.threads, other,
                           place_text(warp, *elsewhere.first));
      break;
    }
    std::uint32_t left = block.worker->launch->threads - alive_threads(block);
    if (left != 0) others += fmt::format("; {} threads have left the kernel", left);
    report(warp, FindingKind::barrier_deadlock, *waiting.first, lane, 0,
           fmt::format("{} waits at barrier {} of {} with {} threads, but {} are expected{}", thread_text(warp, lane),
                       id, place_text(warp, *waiting.first), waiting.threads + block.arrived[id], expected, others));
    return;
  }
}

// Lanes of one warp that wait at different aligned barriers never come together on the hardware.
void merge_waiting(Warp& warp) {
  for (std::size_t i = 0; i < warp.splits.size(); ++i) {
    for (std::size_t k = i + 1; k < warp.splits.size(); ++k) {
      Split& a = warp.splits[i];
      Split& b = warp.splits[k];
      if (a.state != SplitState::at_barrier || b.state != SplitState::at_barrier || a.pc != b.pc ||
          a.frame != b.frame || a.barrier != b.barrier)
        continue;
      a.mask |= b.mask;
      b.mask = 0;
    }
  }
  std::erase_if(warp.splits, [](const Split& split) { return split.mask == 0; });
}

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
  block.arrived.fill(0);
  tick(worker);
  block.start_time = worker.race_time << race_time_shift;
  block.barrier_time = block.start_time;
  block.acquired_time = launch.interleaved ? block.start_time : worker.launch_time;
  // Unmapped, then each variable mapped and undefined.
  std::memset(block.shared_defined.data(), shared_unmapped, block.shared_defined.size());
  for (const SharedVariable& variable : launch.program->shared) {
    std::uint32_t bytes = variable.dynamic ? launch.arguments.dynamic_shared_bytes : variable.bytes;
    std::memset(block.shared_defined.data() + variable.offset, 0, bytes);
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
    warp.copies.clear();
    warp.open_group.fill(0);
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
  while (worker.stop == StopReason::none) {
    bool ran = false;
    for (std::uint32_t index : block.order) {
      Warp& warp = block.warps[index];
      if (warp.alive == 0) continue;
      ran |= run_warp(warp, warp_slice);
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
      break;
    }
    if (remaining_at_start - worker.remaining > slice) return false;
  }
  for (Warp& warp : block.warps) finish_copies(warp);
  block.finished = true;
  return true;
}

}  // namespace kw
