// cp.async, its groups and the waits for them. What is found here: accesses to a destination while its copy is under
// way, a second copy to the same place, a source that changes before the copy has been waited for.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/emulate/async_copy.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"

namespace kw {
namespace {

constexpr std::size_t pending_limit = 4096;  // of a warp; older ones are finished early

bool marks_flights(const Warp& warp) { return !warp.worker->launch->options.profiling; }
bool lands_early(const Warp& warp) { return warp.worker->launch->options.copies_land_early; }

void put_down(Warp& warp, const PendingCopy& copy, int lane) {
  const auto at = static_cast<std::size_t>(lane);
  std::memcpy(warp.block->shared_data.data() + copy.target[at], copy.data[at].data(), copy.bytes);
}

// The source is read again when the copy is waited for: on the GPU it may have been read as late as that.
void read_source_again(Warp& warp, PendingCopy& copy, int lane) {
  const auto at = static_cast<std::size_t>(lane);
  const std::uint32_t extent = copy.extent[at];
  if (extent == 0) return;
  const Allocation* source = warp.worker->launch->memory->find(copy.source[at]);
  if (source == nullptr || source->right == MemoryAccessRight::read_only) return;
  const std::byte* now = source->data.get() + (copy.source[at] - source->base);
  if (std::memcmp(now, copy.data[at].data(), extent) == 0) return;
  report(warp, FindingKind::global_race, *copy.instruction, lane, copy.source[at],
         fmt::format("{}: {} + {}, from which an asynchronous copy reads, was changed before the copy was waited for",
                     thread_text(warp, lane), source->name, copy.source[at] - source->base));
  if (!lands_early(warp)) std::memcpy(copy.data[at].data(), now, extent);
}

// The lanes of `copy.lanes` have waited: the data is there, for these threads; others need a barrier.
void land(Warp& warp, PendingCopy& copy) {
  const MemoryView view = view_of_shared(warp);
  for (LaneMask left = copy.lanes; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const auto at = static_cast<std::size_t>(lane);
    const std::uint32_t offset = copy.target[at];
    read_source_again(warp, copy, lane);
    put_down(warp, copy, lane);
    std::memset(view.defined + offset, ((copy.undefined >> lane) & 1) != 0 ? 0 : 1, copy.bytes);
    // Whoever touched the place meanwhile has been reported; from now on it is as if the thread had stored here.
    if (view.races == nullptr) continue;
    warp.touched_memory = true;
    RaceGranules& races = *view.races;
    const std::uint32_t last = (offset + copy.bytes - 1) >> races.shift;
    for (std::uint32_t granule = offset >> races.shift; granule <= last; ++granule)
      races.writers[granule] = warp.moment.now | warp.moment.warp | lane;
  }
}

const PendingCopy* flight_to(const Warp& warp, std::uint32_t offset, std::uint32_t bytes, int& lane) {
  for (auto copy = warp.copies.rbegin(); copy != warp.copies.rend(); ++copy) {
    for (LaneMask left = copy->lanes; left != 0; left &= left - 1) {
      lane = __builtin_ctz(left);
      const std::uint32_t target = copy->target[static_cast<std::size_t>(lane)];
      if (target < offset + bytes && offset < target + copy->bytes) return &*copy;
    }
  }
  return nullptr;
}

// Would the copy under way to this place put down the same bytes?
bool same_flight(Warp& warp, std::uint32_t offset, std::uint32_t bytes, const std::byte* data) {
  for (const Warp& other : warp.block->warps) {
    int lane = 0;
    const PendingCopy* copy = flight_to(other, offset, bytes, lane);
    if (copy == nullptr) continue;
    const auto at = static_cast<std::size_t>(lane);
    return copy->target[at] == offset && copy->bytes == bytes && std::memcmp(copy->data[at].data(), data, bytes) == 0;
  }
  return false;
}

// How many bytes of the source are read; the rest of the destination becomes zero.
std::uint32_t extent_of(Warp& warp, const Instruction& in, int lane, LaneMask ignored) {
  if (((ignored >> lane) & 1) != 0) return 0;
  if (in.source[2] == no_slot) return in.extra;
  const std::uint32_t wanted = warp.u32(in.source[2], lane);
  if (wanted > in.extra)
    report(warp, FindingKind::out_of_bounds, in, lane, 0,
           fmt::format("{}: an asynchronous copy of {} bytes is told to read {} bytes of its source",
                       thread_text(warp, lane), in.extra, wanted));
  return std::min<std::uint32_t>(wanted, in.extra);
}

// False: it was a fault, which has been reported.
bool read_source(Warp& warp, const Instruction& in, PendingCopy& copy, int lane) {
  const auto at = static_cast<std::size_t>(lane);
  const std::uint32_t extent = copy.extent[at];
  if (extent != 0 && copy.source[at] % in.extra != 0) {
    report_misaligned(warp, in, lane, copy.source[at], in.extra);
    return false;
  }
  // Parts of 4 bytes, because fewer may be wanted than would be aligned.
  for (std::uint32_t done = 0; done < extent;) {
    std::uint32_t part = extent == in.extra ? in.extra : std::min<std::uint32_t>(4, extent - done);
    while ((part & (part - 1)) != 0) --part;
    bool undefined = false;
    if (!read_lane(warp, in, PtxSpace::global, copy.source[at] + done, lane, part, copy.data[at].data() + done,
                   undefined))
      return false;
    if (undefined) copy.undefined |= 1u << lane;
    done += part;
  }
  return true;
}

// Two copies to one place land in any order.
void check_destination(Warp& warp, const Instruction& in, const PendingCopy& copy, int lane, const MemoryView& view,
                       std::uint32_t offset) {
  const auto at = static_cast<std::size_t>(lane);
  if (!touches_flight(view, offset, in.extra)) {
    if (view.races != nullptr) race_access(warp, in, view, lane, offset, in.extra, AccessKind::write, false);
    return;
  }
  if (same_flight(warp, offset, in.extra, copy.data[at].data()))
    report(warp, FindingKind::same_value_race, in, lane, offset,
           fmt::format("{} copies to a place that another asynchronous copy is under way to (the same value)",
                       thread_text(warp, lane)));
  else
    report_flight(warp, in, lane, offset, in.extra, AccessKind::write);
}

}  // namespace

bool touches_flight(const MemoryView& view, std::uint32_t offset, std::uint32_t bytes) {
  if (!view.shared) return false;
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (view.defined[offset + i] == std::byte{shared_in_flight}) return true;
  return false;
}

void report_flight(Warp& warp, const Instruction& in, int lane, std::uint32_t offset, std::uint32_t bytes,
                   AccessKind kind) {
  if (!warp.worker->log.would_admit(FindingKind::shared_race, origin_of(warp, in).where)) {
    report(warp, FindingKind::shared_race, in, lane, offset, "");
    return;
  }
  std::string who = "an asynchronous copy";
  for (const Warp& other : warp.block->warps) {
    int copying = 0;
    const PendingCopy* copy = flight_to(other, offset, bytes, copying);
    if (copy == nullptr) continue;
    const bool own = &other == &warp && copying == lane;
    who = fmt::format("an asynchronous copy of {} (line {})",
                      own ? "its own" : fmt::format("thread {} of the block", other.first_thread + copying),
                      origin_of(warp, *copy->instruction).where.line);
    break;
  }
  report(warp, FindingKind::shared_race, in, lane, offset,
         fmt::format("{} {} {}, to which {} is still under way: nobody has waited for it", thread_text(warp, lane),
                     kind == AccessKind::read ? "reads" : "writes to", shared_place(warp, offset), who),
         "The thread that copies waits for its group (cp.async.wait_group, __pipeline_wait_prior, cg::wait), then a "
         "barrier lets the others read; count how many groups may still be under way.");
}

void run_copy_async(Warp& warp, const Instruction& in, LaneMask active) {
  const FunctionCode& function = *warp.frame->function;
  const MemoryAccess& global = function.memory[in.detail];
  const MemoryAccess& shared = function.memory[in.detail + 1];
  LaneMask unknown = (warp.undefined_of(in.source[0]) | warp.undefined_of(in.source[1])) & active;
  if (unknown != 0)
    report_undefined(warp, FindingKind::uninitialised_address, in, unknown, "the address of an asynchronous copy");
  std::uint64_t from[warp_lanes];
  addresses_of(warp, in, global, from);
  LaneMask ignored = 0;
  if (in.predicate_in != no_predicate) {
    ignored = warp.predicates[in.predicate_in];
    if (in.predicate_in_negated) ignored = ~ignored;
  }
  if (warp.copies.size() >= pending_limit) {
    // Half of them at once: one at a time would move all the others each time.
    const auto half = warp.copies.begin() + static_cast<std::ptrdiff_t>(pending_limit / 2);
    for (auto early = warp.copies.begin(); early != half; ++early) land(warp, *early);
    warp.copies.erase(warp.copies.begin(), half);
  }
  if (marks_flights(warp)) warp.block->copies_async = true;
  warp.copies.emplace_back();
  PendingCopy& copy = warp.copies.back();
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
    copy.source[at] = from[lane];
    copy.extent[at] = static_cast<std::uint8_t>(extent_of(warp, in, lane, ignored));
    if (!read_source(warp, in, copy, lane)) continue;
    check_destination(warp, in, copy, lane, view, offset);
    copy.target[at] = offset;
    copy.lanes |= 1u << lane;
    if (lands_early(warp)) put_down(warp, copy, lane);
    if (marks_flights(warp)) std::memset(view.defined + offset, shared_in_flight, in.extra);
  }
  if (copy.lanes == 0) warp.copies.pop_back();
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
