// One lane's access to memory, with all checks: for everything that is not worth a fast path.

#include <algorithm>
#include <cstring>

#include "kernel/emulate/async_copy.h"
#include "kernel/emulate/local_memory.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

bool local_in_range(const Warp& warp, std::uint64_t address, std::uint32_t bytes) {
  std::uint64_t top = std::uint64_t{warp.frame->local_base} + warp.frame->function->local_bytes;
  return address <= top && bytes <= top - address;
}

bool any_equal(const std::byte* shadow, std::uint32_t bytes, int value) {
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (shadow[i] == static_cast<std::byte>(value)) return true;
  return false;
}

// Local memory: each lane's own, within its frame.
bool check_local(Warp& warp, const Instruction& in, std::uint64_t address, int lane, std::uint32_t bytes,
                 AccessKind kind) {
  warp.worker->unpaid.units += work_cost::lane_by_lane;
  if (!local_in_range(warp, address, bytes)) {
    report_fault(warp, in, lane, PtxSpace::local, address, bytes, kind);
    return false;
  }
  if (address % bytes != 0) {
    report_misaligned(warp, in, lane, address, bytes);
    return false;
  }
  return true;
}

}  // namespace

bool resolve_lane(Warp& warp, const Instruction& in, PtxSpace space, std::uint64_t address, int lane,
                  std::uint32_t bytes, AccessKind kind, MemoryView& view, std::uint32_t& offset) {
  warp.worker->unpaid.units += work_cost::lane_by_lane;
  if (space == PtxSpace::generic) space = space_of_address(address);
  if (space == PtxSpace::shared) {
    view = view_of_shared(warp);
  } else if (space == PtxSpace::param) {
    view = view_of_parameters(warp);
  } else {
    Allocation* allocation = warp.worker->launch->memory->find(address);
    if (allocation == nullptr) {
      report_fault(warp, in, lane, PtxSpace::global, address, bytes, kind);
      return false;
    }
    view = view_of(warp, *allocation);
  }
  if (view.bytes > work_cost::cached_bytes) warp.worker->unpaid.units += work_cost::cold_lane;
  std::uint64_t within = address - view.base;
  if (address < view.base || within > view.bytes || bytes > view.bytes - within) {
    report_fault(warp, in, lane, space, address, bytes, kind);
    return false;
  }
  if (address % bytes != 0) {
    report_misaligned(warp, in, lane, address, bytes);
    return false;
  }
  offset = static_cast<std::uint32_t>(within);
  if (view.shared && any_equal(view.defined + offset, bytes, shared_unmapped)) {
    report_fault(warp, in, lane, space, address, bytes, kind);
    return false;
  }
  if (kind != AccessKind::read && !view.writable) {
    report_read_only(warp, in, lane, address, view);
    return false;
  }
  if (view.allocation != nullptr && view.allocation->lazy != nullptr)
    return touch(warp, *view.allocation, offset, bytes, kind != AccessKind::read);
  return true;
}

bool read_lane(Warp& warp, const Instruction& in, PtxSpace space, std::uint64_t address, int lane, std::uint32_t bytes,
               void* value, bool& undefined, bool strong) {
  if (space == PtxSpace::generic) space = space_of_address(address);
  undefined = false;
  auto* to = static_cast<std::byte*>(value);
  std::memset(to, 0, bytes);
  if (space == PtxSpace::local) {
    if (!check_local(warp, in, address, lane, bytes, AccessKind::read)) return false;
    for (std::uint32_t i = 0; i < bytes; i += 4) {
      std::size_t index = local_index(address + i, lane);
      std::uint32_t part = std::min<std::uint32_t>(4, bytes - i);
      std::memcpy(to + i, warp.local_data.data() + index, part);
      undefined |= any_equal(warp.local_defined.data() + index, part, 0);
    }
    return true;
  }
  MemoryView view;
  std::uint32_t offset = 0;
  if (!resolve_lane(warp, in, space, address, lane, bytes, AccessKind::read, view, offset)) return false;
  if (warp.block->copies_async && touches_flight(view, offset, bytes))
    report_flight(warp, in, lane, offset, bytes, AccessKind::read);
  const bool racing = view.races != nullptr && (!strong || view.shared);
  const bool from_race =
      racing && warp.worker->racy != nullptr && racing_read(warp, view, lane, offset, bytes, strong) != ReadRace::none;
  if (racing) race_access(warp, in, view, lane, offset, bytes, AccessKind::read, false, strong);
  std::memcpy(to, view.data + offset, bytes);
  undefined = view.defined != nullptr && any_equal(view.defined + offset, bytes, 0);
  if (undefined && warp.worker->racy != nullptr) hold_racy_value(warp, LaneMask{1} << lane);
  undefined = undefined || from_race;
  return true;
}

bool write_lane(Warp& warp, const Instruction& in, PtxSpace space, std::uint64_t address, int lane, std::uint32_t bytes,
                const void* value, bool undefined, bool strong) {
  if (space == PtxSpace::generic) space = space_of_address(address);
  auto* from = static_cast<const std::byte*>(value);
  int mark = undefined ? 0 : 1;
  if (space == PtxSpace::local) {
    if (!check_local(warp, in, address, lane, bytes, AccessKind::write)) return false;
    for (std::uint32_t i = 0; i < bytes; i += 4) {
      std::size_t index = local_index(address + i, lane);
      std::uint32_t part = std::min<std::uint32_t>(4, bytes - i);
      std::memcpy(warp.local_data.data() + index, from + i, part);
      std::memset(warp.local_defined.data() + index, mark, part);
    }
    return true;
  }
  MemoryView view;
  std::uint32_t offset = 0;
  if (!resolve_lane(warp, in, space, address, lane, bytes, AccessKind::write, view, offset)) return false;
  if (warp.block->copies_async && touches_flight(view, offset, bytes))
    report_flight(warp, in, lane, offset, bytes, AccessKind::write);
  if (view.races != nullptr)
    race_access(warp, in, view, lane, offset, bytes, AccessKind::write,
                std::memcmp(view.data + offset, from, bytes) == 0, strong);
  std::memcpy(view.data + offset, from, bytes);
  if (warp.worker->racy != nullptr && !view.shared) {
    if (undefined) use_racy_value(warp, in, LaneMask{1} << lane, RacyUse::other);
    return true;
  }
  if (view.defined != nullptr)
    std::memset(view.defined + offset, mark, bytes);
  else if (undefined && view.allocation != nullptr && view.allocation->defined != nullptr) {
    view.allocation->fully_defined = false;
    std::memset(view.allocation->defined.get() + offset, mark, bytes);
  }
  if (undefined && view.allocation != nullptr && view.allocation->undefined_store_line == 0)
    view.allocation->undefined_store_line = origin_of(warp, in).where.line;
  return true;
}

}  // namespace kw
