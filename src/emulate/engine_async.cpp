// cp.async. The global data is read when the copy is issued; it lands in shared memory when its thread waits for the
// group. Between the two the shared memory may not be touched by anybody, so that the write is recorded for the race
// check at both ends.

#include <algorithm>
#include <cstring>

#include "emulate/async_copy.h"
#include "emulate/memory_view.h"
#include "emulate/operations.h"

namespace kw {
namespace {

constexpr std::size_t pending_limit = 4096;  // of a warp; older ones are finished early

void land(Warp& warp, const PendingCopy& copy) {
  for (LaneMask left = copy.lanes; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    write_lane(warp, *copy.instruction, PtxSpace::shared, copy.target[static_cast<std::size_t>(lane)], lane, copy.bytes,
               copy.data[static_cast<std::size_t>(lane)].data(), ((copy.undefined >> lane) & 1) != 0);
  }
}

}  // namespace

void run_copy_async(Warp& warp, const Instruction& in, LaneMask active) {
  const FunctionCode& function = *warp.frame->function;
  const MemoryAccess& global = function.memory[in.detail];
  const MemoryAccess& shared = function.memory[in.detail + 1];
  LaneMask unknown = (warp.undefined_of(in.source[0]) | warp.undefined_of(in.source[1])) & active;
  if (unknown != 0)
    report_undefined(warp, FindingKind::uninitialised_address, in, unknown, "the address of an asynchronous copy");
  std::uint64_t from[warp_lanes];
  addresses_of(warp, in, global, from);
  LaneMask skip = 0;
  if (in.predicate_in != no_predicate) {
    skip = warp.predicates[in.predicate_in];
    if (in.predicate_in_negated) skip = ~skip;
  }
  PendingCopy copy;
  copy.group = warp.open_group;
  copy.bytes = static_cast<std::uint8_t>(in.extra);
  copy.instruction = &in;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    auto at = static_cast<std::size_t>(lane);
    std::uint64_t to = shared.wide_base ? warp.u64(in.source[1], lane) : warp.u32(in.source[1], lane);
    to = static_cast<std::uint32_t>(to + in.target);
    MemoryView view;
    std::uint32_t offset = 0;
    if (!resolve_lane(warp, in, PtxSpace::shared, to, lane, in.extra, AccessKind::write, view, offset)) continue;
    std::uint32_t extent =
        in.source[2] != no_slot ? std::min<std::uint32_t>(warp.u32(in.source[2], lane), in.extra) : in.extra;
    if (((skip >> lane) & 1) != 0) extent = 0;
    // Parts of 4 bytes, because fewer may be wanted than would be aligned.
    bool ok = true;
    for (std::uint32_t done = 0; done < extent && ok;) {
      std::uint32_t part = extent == in.extra ? in.extra : std::min<std::uint32_t>(4, extent - done);
      while ((part & (part - 1)) != 0) --part;
      bool undefined = false;
      ok = read_lane(warp, in, PtxSpace::global, from[lane] + done, lane, part, copy.data[at].data() + done, undefined);
      if (undefined) copy.undefined |= 1u << lane;
      done += part;
    }
    if (!ok) continue;
    if (view.races != nullptr) race_access(warp, in, view, lane, offset, in.extra, AccessKind::write, false);
    copy.lanes |= 1u << lane;
    copy.target[at] = static_cast<std::uint32_t>(to);
  }
  if (copy.lanes == 0) return;
  if (warp.copies.size() >= pending_limit) {
    // Half of them at once: one at a time would move all the others each time.
    const auto half = warp.copies.begin() + static_cast<std::ptrdiff_t>(pending_limit / 2);
    for (auto early = warp.copies.begin(); early != half; ++early) land(warp, *early);
    warp.copies.erase(warp.copies.begin(), half);
  }
  warp.copies.push_back(copy);
}

void run_copy_commit(Warp& warp, const Instruction&, LaneMask active) {
  for (LaneMask left = active; left != 0; left &= left - 1)
    ++warp.open_group[static_cast<std::size_t>(__builtin_ctz(left))];
}

// Groups belong to a thread: lanes that took different ways have different numbers of them.
void run_copy_wait(Warp& warp, const Instruction& in, LaneMask active) {
  std::array<std::uint32_t, warp_lanes> finished{};
  for (std::size_t lane = 0; lane < finished.size(); ++lane) {
    const std::uint32_t open = warp.open_group[lane];
    finished[lane] =
        open - static_cast<std::uint32_t>(std::min<std::int64_t>(std::max<std::int64_t>(in.immediate, 0), open));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < warp.copies.size(); ++i) {
    PendingCopy& copy = warp.copies[i];
    LaneMask due = copy.lanes & active;
    if (in.immediate >= 0)
      for (LaneMask left = due; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        const auto at = static_cast<std::size_t>(lane);
        if (copy.group[at] >= finished[at]) due &= ~(1u << lane);
      }
    if (due != 0) {
      const LaneMask rest = copy.lanes & ~due;
      copy.lanes = due;
      land(warp, copy);
      copy.lanes = rest;
    }
    if (copy.lanes == 0) continue;
    if (kept != i) warp.copies[kept] = copy;
    ++kept;
  }
  warp.copies.resize(kept);
}

void finish_copies(Warp& warp) {
  warp.copies.clear();  // nobody can see them any more
}

}  // namespace kw
