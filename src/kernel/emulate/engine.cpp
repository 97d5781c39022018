// Runs a warp. Its lanes are kept as a small set of splits (program counter and mask); the one with the smallest
// program counter runs until it meets another, which then merge. Because of the order of the blocks (decode_blocks.h)
// this is where their paths join.

#include <algorithm>

#include <fmt/format.h>

#include "kernel/emulate/access_observer.h"
#include "kernel/emulate/warp.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::int64_t fairness_slice =
    4096;  // instructions, after which lanes that wait behind a spinning loop get their turn
constexpr std::int64_t paying_slice = 8192;  // instructions, after which work is charged at the latest

bool runs_before(const Split& a, const Split& b) {
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.pc < b.pc;
}

// Merges ready splits that stand at the same place; gives the index of the one to run, or -1.
int pick_split(Warp& warp) {
  auto& splits = warp.splits;
  int best = -1;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (splits[i].mask == 0) {
      splits[i] = splits.back();
      splits.pop_back();
      --i;
      continue;
    }
    if (splits[i].state != SplitState::ready) continue;
    if (best >= 0) {
      Split& other = splits[static_cast<std::size_t>(best)];
      if (other.pc == splits[i].pc && other.frame == splits[i].frame) {
        other.mask |= splits[i].mask;
        other.forced |= splits[i].forced;
        other.lowest_jump = std::min(other.lowest_jump, splits[i].lowest_jump);
        splits[i] = splits.back();
        splits.pop_back();
        --i;
        continue;
      }
      if (!runs_before(splits[i], other)) continue;
    }
    best = static_cast<int>(i);
  }
  if (best >= 0 && warp.unfair >= fairness_slice) {
    // The lanes in front have had a long run while others could go on (a spin lock, perhaps): let all have their turn.
    warp.unfair = 0;
    std::size_t start = ++warp.turns % splits.size();
    for (std::size_t i = 0; i < splits.size(); ++i) {
      std::size_t candidate = (start + i) % splits.size();
      if (splits[candidate].state == SplitState::ready) return static_cast<int>(candidate);
    }
  }
  return best;
}

LaneMask lanes_missing(const Warp& warp, const Split& split, LaneMask present) {
  const Instruction& in = split.frame->function->code[split.pc];
  auto* mask = reinterpret_cast<const std::uint32_t*>(split.frame->registers + in.source[3]);
  return mask[__builtin_ctz(split.mask)] & warp.alive & ~present;
}

// No split is ready. Splits that wait for lanes of their warp go on when those have exited; or else nobody ever will.
bool release_warp_sync(Warp& warp) {
  Split* stuck = nullptr;
  for (Split& split : warp.splits) {
    if (split.state != SplitState::at_warp_sync) continue;
    if (lanes_missing(warp, split, split.mask) == 0) {
      split.state = SplitState::ready;
      return true;
    }
    if (stuck == nullptr || runs_before(split, *stuck)) stuck = &split;
  }
  if (stuck == nullptr) return false;
  LaneMask missing = lanes_missing(warp, *stuck, stuck->mask);
  enter_split(warp, *stuck);
  const Instruction& in = stuck->frame->function->code[stuck->pc];
  int lane = __builtin_ctz(stuck->mask);
  std::string where;
  for (const Split& other : warp.splits) {
    if ((other.mask & missing) == 0) continue;
    const InstructionOrigin& origin = origin_of(warp, other.frame->function->code[other.pc]);
    where = fmt::format("; they wait at line {} ({})", origin.where.line, origin.form);
    break;
  }
  report(warp, FindingKind::warp_sync_divergence, in, lane, 0,
         fmt::format("{}: {} waits for lanes 0x{:08x} of its warp, which do not come{}", thread_text(warp, lane),
                     origin_of(warp, in).form, missing, where));
  stuck->state = SplitState::ready;
  stuck->forced = true;
  return true;
}

void report_guard(Warp& warp, const Instruction& in, LaneMask mask) {
  if (warp.worker->racy != nullptr)
    use_racy_value(warp, in, warp.predicates_undefined[in.guard] & mask, RacyUse::branch, warp.predicates[in.guard]);
  else
    report_undefined(warp, FindingKind::uninitialised_branch, in, warp.predicates_undefined[in.guard] & mask,
                     in.flow == Flow::branch ? "a branch" : "whether an instruction is executed");
  warp.predicates_undefined[in.guard] &= ~mask;
}

void exit_lanes(Warp& warp, Frame* frame, LaneMask lanes) {
  warp.alive &= ~lanes;
  if (frame->caller != nullptr) leave_frames(warp, frame, lanes);
}

void add_split(Warp& warp, std::uint32_t pc, LaneMask mask, Frame* frame, std::uint32_t from,
               std::uint32_t lowest_jump) {
  Split split;
  split.pc = pc;
  split.mask = mask;
  split.frame = frame;
  split.from = from;
  split.lowest_jump = pc <= from ? std::min(lowest_jump, pc) : lowest_jump;
  warp.splits.push_back(split);
}

void branch_by_table(Warp& warp, std::size_t index, const Instruction& in, LaneMask active) {
  const auto& targets = warp.frame->function->branch_tables[in.detail];
  LaneMask undefined = warp.undefined_of(in.source[0]) & active;
  if (undefined != 0) report_undefined(warp, FindingKind::uninitialised_branch, in, undefined, "a switch");
  Frame* frame = warp.frame;
  const std::uint32_t from = warp.splits[index].pc, lowest_jump = warp.splits[index].lowest_jump;
  warp.splits[index].mask &= ~active;
  warp.splits[index].pc += 1;
  for (LaneMask left = active; left != 0;) {
    int lane = __builtin_ctz(left);
    std::uint32_t choice = warp.u32(in.source[0], lane);
    LaneMask same = 0;
    for (LaneMask rest = left; rest != 0; rest &= rest - 1)
      if (warp.u32(in.source[0], __builtin_ctz(rest)) == choice) same |= rest & -rest;
    left &= ~same;
    if (choice >= targets.size()) {
      report(warp, FindingKind::trap, in, lane, 0,
             fmt::format("{}: a branch table has {} entries, entry {} is wanted", thread_text(warp, lane),
                         targets.size(), choice));
      exit_lanes(warp, frame, same);
      continue;
    }
    add_split(warp, targets[choice], same, frame, from, lowest_jump);
  }
}

// The lanes have arrived at a warp-wide operation: true when all that it names are there. They are joined with those
// that came before.
bool gather_warp_sync(Warp& warp, std::size_t index) {
  auto& splits = warp.splits;
  LaneMask present = splits[index].mask;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    Split& other = splits[i];
    if (i == index || other.state != SplitState::at_warp_sync || other.pc != splits[index].pc ||
        other.frame != splits[index].frame)
      continue;
    present |= other.mask;
    other.mask = 0;
  }
  splits[index].mask = present;
  return splits[index].forced || lanes_missing(warp, splits[index], present) == 0;
}

void check_sync_mask(Warp& warp, const Instruction& in, LaneMask active) {
  LaneMask outside = 0;
  const std::uint32_t* masks = warp.lanes<std::uint32_t>(in.source[3]);
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    outside |= (((masks[lane] >> lane) & 1) ^ 1) << lane;
  }
  if (outside == 0) return;
  int lane = __builtin_ctz(outside);
  report(warp, FindingKind::warp_sync_mask, in, lane, 0,
         fmt::format("{}: the mask 0x{:08x} of {} does not name the calling lane {}", thread_text(warp, lane),
                     masks[lane], origin_of(warp, in).form, lane));
}

// Lanes in front of which nothing else waits in the same frame: the split may run without looking back up to this
// program counter.
std::uint32_t next_meeting(const Warp& warp, std::size_t index) {
  std::uint32_t meeting = ~0u;
  for (std::size_t i = 0; i < warp.splits.size(); ++i)
    if (i != index && warp.splits[i].state == SplitState::ready && warp.splits[i].frame == warp.splits[index].frame &&
        warp.splits[i].pc > warp.splits[index].pc)
      meeting = std::min(meeting, warp.splits[i].pc);
  return meeting;
}

// Runs one split until something happens to the set of splits. Where the kernel has no barriers nobody asks for its
// jumps.
template <bool observed, bool barriers>
void run_split(Warp& warp, std::size_t index, std::int64_t& slice) {
  enter_split(warp, warp.splits[index]);
  Worker& worker = *warp.worker;
  const Instruction* code = warp.frame->function->code.data();
  std::uint32_t pc = warp.splits[index].pc;
  std::uint32_t from = warp.splits[index].from;
  std::uint32_t lowest_jump = warp.splits[index].lowest_jump;
  const LaneMask mask = warp.splits[index].mask;
  const std::uint32_t meeting = next_meeting(warp, index);
  bool alone = warp.splits.size() == 1;
  std::int64_t limit = std::min({slice, worker.remaining, paying_slice});
  if (!alone) limit = std::min(limit, fairness_slice);
  std::int64_t left = limit;
  std::uint64_t work = work_cost::split + work_cost::other_split * warp.splits.size();
  InstructionCount* counts = worker.counts.data();
  const std::uint64_t clock_at_start = worker.clock;

  auto account = [&] {
    std::int64_t used = limit - left;
    slice -= used;
    worker.remaining -= used;
    worker.clock = clock_at_start + static_cast<std::uint64_t>(used);
    if (!alone) warp.unfair += used;
    worker.unpaid.units += work;
    worker.unpaid.instructions += static_cast<std::uint64_t>(used);
  };
  while (left > 0) {
    const Instruction& in = code[pc];
    LaneMask active = mask;
    --left;
    work += in.work;
    if (in.guard != no_predicate) {
      if ((warp.predicates_undefined[in.guard] & mask) != 0) report_guard(warp, in, mask);
      LaneMask guard = warp.predicates[in.guard];
      active &= in.guard_negated ? ~guard : guard;
    }
    if constexpr (observed) active = worker.launch->options.observer->executes(warp, in, mask, active);
    InstructionCount& count = counts[in.origin];
    ++count.warps;
    // Without a popcount instruction in the baseline this would be a call.
    count.lanes += active == all_lanes ? warp_lanes : static_cast<std::uint64_t>(__builtin_popcount(active));
    if (in.flow == Flow::next) {
      if (active != 0) in.run(warp, in, active);
      ++pc;
      if (pc == meeting) break;
      continue;
    }
    if (in.flow == Flow::branch) {
      if (active == mask) {
        if constexpr (barriers) {
          from = pc;
          if (in.target <= pc) lowest_jump = std::min(lowest_jump, in.target);
        }
        pc = in.target;
        if (!alone) break;
        continue;
      }
      if (active == 0) {
        ++pc;
        if (pc == meeting) break;
        continue;
      }
      account();
      warp.splits[index].pc = pc + 1;
      warp.splits[index].mask = mask & ~active;
      warp.splits[index].from = from;
      warp.splits[index].lowest_jump = lowest_jump;
      add_split(warp, in.target, active, warp.frame, pc, lowest_jump);
      return;
    }
    if (active == 0) {
      ++pc;
      if (pc == meeting) break;
      continue;
    }
    if (in.flow == Flow::warp_sync && active == mask) {
      warp.splits[index].pc = pc;
      if (alone && lanes_missing(warp, warp.splits[index], mask) == 0) {
        check_sync_mask(warp, in, active);
        in.run(warp, in, active);
        ++pc;
        continue;
      }
    }
    // Everything else changes the set of splits.
    account();
    if (active != mask) {
      // Only some lanes take part: the others go on behind it.
      add_split(warp, pc + 1, mask & ~active, warp.frame, pc, lowest_jump);
      warp.splits[index].mask = active;
    }
    Split& split = warp.splits[index];
    split.pc = pc;
    split.from = from;
    split.lowest_jump = lowest_jump;
    switch (in.flow) {
      case Flow::warp_sync:
        if (gather_warp_sync(warp, index)) {
          LaneMask together = warp.splits[index].mask;
          check_sync_mask(warp, in, together);
          in.run(warp, in, together);
          warp.splits[index].forced = false;
          ++warp.splits[index].pc;
        } else {
          split.state = SplitState::at_warp_sync;
        }
        return;
      case Flow::branch_table:
        branch_by_table(warp, index, in, active);
        return;
      case Flow::call:
        call_function(warp, index, in);
        return;
      case Flow::ret:
        if (split.frame->caller == nullptr) note_exit(warp, split, in);
        return_from_function(warp, index);
        return;
      case Flow::exit: {
        Frame* frame = split.frame;
        note_exit(warp, split, in);
        split.mask = 0;
        exit_lanes(warp, frame, active);
        return;
      }
      case Flow::barrier:
        arrive_at_barrier(warp, split, in, active);
        return;
      case Flow::trap:
        report(warp, FindingKind::trap, in, __builtin_ctz(active), 0,
               fmt::format("{} executed trap (a failed assertion, or __trap())",
                           thread_text(warp, __builtin_ctz(active))));
        worker.stop = StopReason::trap;
        return;
      case Flow::unsupported: {
        const InstructionOrigin& origin = origin_of(warp, in);
        worker.unsupported = origin.form;
        report(warp, FindingKind::unsupported, in, __builtin_ctz(active), 0,
               fmt::format("{} is not emulated", origin.form));
        worker.stop = StopReason::unsupported;
        return;
      }
      default:
        return;
    }
  }
  account();
  warp.splits[index].pc = pc;
  warp.splits[index].from = from;
  warp.splits[index].lowest_jump = lowest_jump;
}

void report_running(Warp& warp, const Split& split, const std::string& when) {
  enter_split(warp, split);
  const Instruction& in = split.frame->function->code[split.pc];
  int lane = __builtin_ctz(split.mask);
  report(warp, FindingKind::endless_loop, in, lane, 0,
         fmt::format("{} was still running {}", thread_text(warp, lane), when));
}

// Only where somebody wants to go on: the last instruction of the budget may have been the last of the kernel.
void stop_for_budget(Warp& warp) {
  for (const Split& split : warp.splits) {
    if (split.state != SplitState::ready || split.mask == 0) continue;
    warp.worker->stop = StopReason::budget;
    report_running(
        warp, split,
        fmt::format("after {} warp instructions of the launch", warp.worker->launch->limits.warp_instructions));
    return;
  }
}

void report_unfinished(Warp& warp) {
  for (const Split& split : warp.splits)
    if (split.mask != 0) return report_running(warp, split, "when the judgement's budget was spent");
}

}  // namespace

void enter_split(Warp& warp, const Split& split) {
  Frame& frame = *split.frame;
  warp.frame = &frame;
  warp.registers = frame.registers;
  warp.undefined = frame.undefined.data();
  warp.predicates = frame.predicates.data();
  warp.predicates_undefined = frame.predicates_undefined.data();
}

bool run_warp(Warp& warp, std::int64_t slice) {
  refresh_moment(warp);
  const bool observed = warp.worker->launch->options.observer != nullptr;
  const bool barriers = !warp.entry->function->barriers.empty();
  const auto run = observed ? (barriers ? run_split<true, true> : run_split<true, false>)
                            : (barriers ? run_split<false, true> : run_split<false, false>);
  bool ran = false;
  while (slice > 0 && warp.worker->stop == StopReason::none) {
    int index = pick_split(warp);
    if (index < 0) {
      if (!release_warp_sync(warp)) return ran;
      continue;
    }
    ran = true;
    run(warp, static_cast<std::size_t>(index), slice);
    if (warp.worker->unpaid.units >= paying_units && !pay(*warp.worker)) {
      report_unfinished(warp);
      return true;
    }
    if (warp.worker->remaining <= 0) {
      stop_for_budget(warp);
      return true;
    }
  }
  return ran;
}

}  // namespace kw
