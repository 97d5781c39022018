// Barriers of a block, by these rules:
//  - PTX ISA 9.0, 9.7.13.1 "bar, barrier": the executing thread waits for all non-exited threads from its warp, which
//    marks the warp's arrival, and for the non-exited threads of all other warps that take part. A number of threads is
//    a multiple of the warp size: a warp counts as 32 threads, also when some of its lanes have exited or never were.
//  - PTX ISA 9.0, 9.7.12.7 "exit": threads that exit do not hold up a barrier that waits for all threads.
//  - the same, "bar": in conditional code an aligned barrier needs a condition that all threads evaluate identically.
//    So threads that pass around a barrier and go on behind it are wrong, even when they then end; those that end
//    without doing anything that lies behind the barrier are right.

#include <algorithm>

#include <fmt/format.h>

#include "kernel/emulate/warp.h"

namespace kw {
namespace {

std::uint32_t count(LaneMask mask) { return static_cast<std::uint32_t>(__builtin_popcount(mask)); }

std::uint32_t alive_threads(const Block& block) {
  std::uint32_t threads = 0;
  for (const Warp& warp : block.warps) threads += count(warp.alive);
  return threads;
}

struct Waiting {
  std::uint32_t threads = 0;   // that wait
  std::uint32_t arrived = 0;   // as the hardware counts: 32 for each warp that is there with all its lanes
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
    LaneMask here = 0;
    for (Split& split : warp.splits) {
      if (split.mask == 0 || split.state != SplitState::at_barrier || split.barrier != id) continue;
      const Instruction& in = instruction_at(split);
      waiting.threads += count(split.mask);
      here |= split.mask;
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
    if (here != 0 && here == warp.alive) waiting.arrived += warp_lanes;
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
  std::uint32_t waiting = block.arrivers[id];  // warps
  for (Warp& warp : block.warps) {
    for (Split& split : warp.splits) {
      if (split.mask == 0 || split.state != SplitState::at_barrier || split.barrier != id) continue;
      split.state = SplitState::ready;
      ++split.pc;
      waiting |= 1u << warp.index;
    }
  }
  block.arrived[id] = 0;
  block.arrivers[id] = 0;
  // Warps that have left the kernel have nothing more to order.
  std::uint32_t alive = 0;
  for (const Warp& warp : block.warps) alive |= warp.alive != 0 ? 1u << warp.index : 0;
  if ((alive & ~waiting) == 0)
    order_block(block);
  else
    order_warps(block, waiting);
}

std::string place_text(const Warp& warp, const Instruction& in) {
  return fmt::format("line {} ({})", origin_of(warp, in).where.line, origin_of(warp, in).form);
}

// What can be reached from behind an instruction of the kernel without going backwards.
const std::vector<bool>& behind(Worker& worker, const FunctionCode& code, std::uint32_t barrier) {
  const auto [place, fresh] = worker.behind_barrier.try_emplace(barrier);
  std::vector<bool>& reached = place->second;
  if (!fresh) return reached;
  reached.resize(code.code.size() + 1);
  reached[barrier + 1] = true;
  for (std::uint32_t pc = barrier + 1; pc < code.code.size(); ++pc) {
    if (!reached[pc]) continue;
    const Instruction& in = code.code[pc];
    const bool always = in.guard == no_predicate;
    if (in.flow == Flow::branch && in.target > pc) reached[in.target] = true;
    if (in.flow == Flow::branch_table)
      for (const std::uint32_t target : code.branch_tables[in.detail])
        if (target > pc) reached[target] = true;
    const bool ends = in.flow == Flow::branch || in.flow == Flow::branch_table || in.flow == Flow::ret ||
                      in.flow == Flow::exit || in.flow == Flow::trap;
    if (!always || !ends) reached[pc + 1] = true;
  }
  return reached;
}

// Threads that have left the kernel by a way that goes on behind the barrier, without having been there.
void report_passed_around(Block& block, const Waiting& waiting) {
  Warp& warp = *waiting.first_warp;
  const FunctionCode& kernel = block.worker->launch->program->functions[0];
  if (waiting.first < kernel.code.data() || waiting.first >= kernel.code.data() + kernel.code.size()) return;
  const auto barrier = static_cast<std::uint32_t>(waiting.first - kernel.code.data());
  for (const Warp& other : block.warps) {
    for (const Departure& exit : other.exits) {
      if (!behind(*block.worker, kernel, barrier)[exit.last]) continue;
      for (LaneMask left = exit.lanes; left != 0; left &= left - 1) {
        const int gone = __builtin_ctz(left);
        if (other.last_barrier[static_cast<std::size_t>(gone)] >= barrier && exit.lowest_jump > barrier) continue;
        const int lane = __builtin_ctz(waiting.first_lanes);
        report(warp, FindingKind::barrier_divergence, *waiting.first, lane, 0,
               fmt::format("{} has passed around the barrier of {}, at which {} waits, and left the kernel",
                           thread_text(other, gone), place_text(warp, *waiting.first), thread_text(warp, lane)));
        return;
      }
    }
  }
}

void check_divergence(Block& block, const Waiting& waiting) {
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
  report_passed_around(block, waiting);
}

// Lanes that came to bar.arrive one after the other, or whose neighbours have exited meanwhile.
void count_arrivals(Block& block, std::uint32_t id) {
  for (Warp& warp : block.warps) {
    if (warp.arriving[id] == 0 || (warp.alive & ~warp.arriving[id]) != 0) continue;
    block.arrived[id] += warp_lanes;
    block.arrivers[id] |= 1u << warp.index;
    warp.arriving[id] = 0;
  }
}

// Is the barrier complete?
bool complete(const Block& block, std::uint32_t id, const Waiting& waiting) {
  if (waiting.expected == 0) return waiting.threads + block.arrived[id] >= alive_threads(block);
  return waiting.arrived + block.arrived[id] >= waiting.expected;
}

}  // namespace

void arrive_at_barrier(Warp& warp, Split& split, const Instruction& in, LaneMask active) {
  const BarrierUse& use = warp.frame->function->barriers[in.detail];
  int lane = __builtin_ctz(active);
  std::uint32_t id = warp.u32(use.id, lane);
  std::uint32_t count = use.count == no_slot ? 0 : warp.u32(use.count, lane);
  if (id >= warp.block->arrived.size()) {
    report(warp, FindingKind::barrier_divergence, in, lane, 0,
           fmt::format("{}: there is no barrier {}", thread_text(warp, lane), id));
    id = 0;
  }
  if (count % warp_lanes != 0) {
    report(warp, FindingKind::barrier_divergence, in, lane, 0,
           fmt::format("{}: {} with {} threads: the number must be a multiple of {}", thread_text(warp, lane),
                       origin_of(warp, in).form, count, warp_lanes));
    count += warp_lanes - count % warp_lanes;
  }
  if (warp.frame == warp.entry.get())
    for (LaneMask left = active; left != 0; left &= left - 1)
      warp.last_barrier[static_cast<std::size_t>(__builtin_ctz(left))] = split.pc;
  split.lowest_jump = ~0u;
  if (use.kind == BarrierUse::Kind::arrive) {
    warp.arriving[id] |= active;
    count_arrivals(*warp.block, id);
    ++split.pc;
    return;
  }
  split.state = SplitState::at_barrier;
  split.barrier = id;
  split.barrier_count = count;
}

void note_exit(Warp& warp, const Split& split, const Instruction& in) {
  if (split.frame != warp.entry.get()) return;
  Departure exit;
  exit.lanes = split.mask;
  exit.lowest_jump = split.lowest_jump;
  const FunctionCode& kernel = *split.frame->function;
  const Instruction& jump = kernel.code[split.from];
  bool jumped = jump.flow == Flow::branch && jump.target == split.pc;
  if (jump.flow == Flow::branch_table) {
    const auto& targets = kernel.branch_tables[jump.detail];
    jumped = std::find(targets.begin(), targets.end(), split.pc) != targets.end();
  }
  exit.last = in.guard != no_predicate || split.pc == 0 ? split.pc : jumped ? split.from : split.pc - 1;
  warp.exits.push_back(exit);
}

bool release_barriers(Block& block) {
  bool released = false;
  for (std::uint32_t id = 0; id < block.arrived.size(); ++id) {
    Waiting waiting = waiting_at(block, id);
    if (waiting.threads == 0) continue;
    count_arrivals(block, id);
    if (!complete(block, id, waiting)) continue;
    check_divergence(block, waiting);
    release(block, id);
    released = true;
  }
  return released;
}

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
    report(
        warp, FindingKind::barrier_deadlock, *waiting.first, lane, 0,
        fmt::format("{} waits at barrier {} of {} with {} threads, but {} are expected{}", thread_text(warp, lane), id,
                    place_text(warp, *waiting.first),
                    (waiting.expected != 0 ? waiting.arrived : waiting.threads) + block.arrived[id], expected, others));
    return;
  }
}

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

}  // namespace kw
