// Loads and stores of a whole warp. The fast path needs one allocation for all lanes: one vector pass over the
// addresses, then copies. What does not fit goes lane by lane.

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/emulate/access_shape.h"
#include "kernel/emulate/async_copy.h"
#include "kernel/emulate/lane_bits.h"
#include "kernel/emulate/local_memory.h"
#include "kernel/emulate/memory_elements.h"
#include "kernel/emulate/memory_races.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

// --- shadows

bool all_defined(const std::byte* shadow, std::size_t bytes) {
  std::uint64_t wrong = 0;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, shadow + i, 8);
    wrong |= eight ^ 0x0101010101010101u;
  }
  for (; i < bytes; ++i) wrong |= static_cast<std::uint64_t>(shadow[i] ^ std::byte{1});
  return wrong == 0;
}

// Lanes for which one of `bytes` shadow bytes at offset + add is not 1.
LaneMask lanes_not_defined(const std::byte* shadow, const AccessShape& shape, LaneMask active, std::uint32_t add,
                           std::uint32_t bytes) {
  if (shape.uniform) return all_defined(shadow + shape.offset[__builtin_ctz(active)] + add, bytes) ? 0 : active;
  LaneMask result = 0;
  // With all lanes active a lane at the same place as the one before has the same answer.
  LaneMask looked_at = active == all_lanes ? shape.heads : active;
  auto collect = [&](auto ones) {
    for_lanes(looked_at, [&](int lane) {
      decltype(ones) word;
      std::memcpy(&word, shadow + shape.offset[lane] + add, sizeof word);
      result |= LaneMask{word != ones} << lane;
    });
    if (result != 0 && looked_at != active)
      for (int lane = 1; lane < warp_lanes; ++lane)
        if (((looked_at >> lane) & 1) == 0) result |= ((result >> (lane - 1)) & 1) << lane;
  };
  switch (bytes) {
    case 1:
      collect(std::uint8_t{1});
      break;
    case 2:
      collect(std::uint16_t{0x0101});
      break;
    case 4:
      collect(std::uint32_t{0x01010101});
      break;
    case 8:
      collect(std::uint64_t{0x0101010101010101});
      break;
    default:
      for_lanes(active,
                [&](int lane) { result |= LaneMask{!all_defined(shadow + shape.offset[lane] + add, bytes)} << lane; });
  }
  return result;
}

// A fully defined allocation is not any more: what instructions remember about it is wrong.
void forget_views(Warp& warp) {
  for (MemoryView& view : warp.worker->caches) view = {};
}

LaneMask lanes_unmapped(const std::byte* shadow, const AccessShape& shape, LaneMask active, std::uint32_t bytes) {
  LaneMask result = 0;
  for_lanes(active, [&](int lane) {
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (shadow[shape.offset[lane] + i] == std::byte{shared_unmapped}) result |= 1u << lane;
  });
  return result;
}

// Lanes that touch what an asynchronous copy is under way to; they are reported.
LaneMask lanes_in_flight(Warp& warp, const Instruction& in, const MemoryView& view, const AccessShape& shape,
                         LaneMask suspicious, std::uint32_t bytes, AccessKind kind) {
  LaneMask result = 0;
  for_lanes(suspicious, [&](int lane) {
    if (!touches_flight(view, shape.offset[lane], bytes)) return;
    report_flight(warp, in, lane, shape.offset[lane], bytes, kind);
    result |= 1u << lane;
  });
  return result;
}

void mark_defined(std::byte* shadow, const AccessShape& shape, LaneMask active, std::uint32_t bytes, int mark) {
  if (shape.run && is_run(active)) {
    std::memset(shadow + shape.offset[__builtin_ctz(active)], mark,
                static_cast<std::size_t>(__builtin_popcount(active)) * bytes);
    return;
  }
  for_lanes(active, [&](int lane) { std::memset(shadow + shape.offset[lane], mark, bytes); });
}

// --- one view for all lanes

void load_from(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
               const AccessShape& shape, LaneMask active) {
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  LaneMask suspicious = 0;
  if (view.defined != nullptr) {
    bool whole = shape.run && is_run(active) &&
                 all_defined(view.defined + shape.offset[__builtin_ctz(active)],
                             static_cast<std::size_t>(__builtin_popcount(active)) * bytes);
    if (!whole) suspicious = lanes_not_defined(view.defined, shape, active, 0, bytes);
    if (suspicious != 0 && view.shared) {
      LaneMask unmapped = lanes_unmapped(view.defined, shape, suspicious, bytes);
      for_lanes(unmapped, [&](int lane) {
        report_fault(warp, in, lane, PtxSpace::shared, shape.offset[lane], bytes, AccessKind::read);
      });
      suspicious &= ~unmapped;
      if (warp.block->copies_async)
        suspicious &= ~lanes_in_flight(warp, in, view, shape, suspicious, bytes, AccessKind::read);
    }
  }
  // Volatile accesses to global memory are how blocks talk to each other. In shared memory they are looked at: code
  // that takes a warp's lockstep for granted is written with them.
  const bool racing = view.races != nullptr && (!access.synchronizing || view.shared);
  const bool looking = warp.worker->racy != nullptr;
  std::array<LaneMask, 8> from_race{};
  if (racing && looking)
    for (int k = 0; k < access.elements; ++k)
      from_race[static_cast<std::size_t>(k)] = racing_lanes(warp, access, view, shape, active, k);
  if (looking && suspicious != 0) hold_racy_value(warp, suspicious);
  if (racing) race_load(warp, in, access, view, shape, active);
  for (int k = 0; k < access.elements; ++k) {
    if (access.parts[k] == no_slot) continue;
    load_element(warp, access, k, view.data, shape, active);
    LaneMask undefined = suspicious;
    if (suspicious != 0 && access.elements > 1)
      undefined = lanes_not_defined(view.defined, shape, suspicious,
                                    static_cast<std::uint32_t>(k * access.element_bytes), access.element_bytes);
    if (looking) undefined |= from_race[static_cast<std::size_t>(k)];
    LaneMask& mark = warp.undefined_of(access.parts[k]);
    mark = (mark & ~active) | undefined;
  }
}

void store_to(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
              const AccessShape& shape, LaneMask active) {
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  if (!view.writable) {
    int lane = __builtin_ctz(active);
    report_read_only(warp, in, lane, view.base + shape.offset[lane], view);
    return;
  }
  if (view.shared) {
    LaneMask suspicious = lanes_not_defined(view.defined, shape, active, 0, bytes);
    LaneMask unmapped = suspicious == 0 ? 0 : lanes_unmapped(view.defined, shape, suspicious, bytes);
    for_lanes(unmapped, [&](int lane) {
      report_fault(warp, in, lane, PtxSpace::shared, shape.offset[lane], bytes, AccessKind::write);
    });
    active &= ~unmapped;
    if (active == 0) return;
    if (warp.block->copies_async && suspicious != 0)
      lanes_in_flight(warp, in, view, shape, suspicious & active, bytes, AccessKind::write);
  }
  if (view.races != nullptr) race_store(warp, in, access, view, shape, active);
  LaneMask undefined = 0;
  for (int k = 0; k < access.elements; ++k) {
    store_element(warp, access, k, view.data, shape, active);
    undefined |= warp.undefined_of(access.parts[k]) & active;
  }
  std::byte* shadow = view.defined;
  if (warp.worker->racy != nullptr && !view.shared) {
    if (undefined != 0) use_racy_value(warp, in, undefined, RacyUse::other);
    return;
  }
  if (undefined != 0 && view.allocation != nullptr && view.allocation->defined != nullptr) {
    shadow = view.allocation->defined.get();
    if (view.defined == nullptr) forget_views(warp);
    view.allocation->fully_defined = false;
    if (view.allocation->undefined_store_line == 0)
      view.allocation->undefined_store_line = origin_of(warp, in).where.line;
  }
  if (shadow == nullptr) return;
  mark_defined(shadow, shape, active, bytes, 1);
  for (int k = 0; undefined != 0 && k < access.elements; ++k)
    for_lanes(warp.undefined_of(access.parts[k]) & active, [&](int lane) {
      std::memset(shadow + shape.offset[lane] + static_cast<std::size_t>(k) * access.element_bytes, 0,
                  access.element_bytes);
    });
}

// --- lane by lane

void load_lanes(Warp& warp, const Instruction& in, const MemoryAccess& access, PtxSpace space,
                const std::uint64_t* addresses, LaneMask active) {
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  for_lanes(active, [&](int lane) {
    std::byte value[64];
    bool undefined = false;
    read_lane(warp, in, space, addresses[lane], lane, bytes, value, undefined, access.synchronizing);
    AccessShape one;
    one.uniform = true;
    one.offset[lane] = 0;
    for (int k = 0; k < access.elements; ++k) {
      if (access.parts[k] == no_slot) continue;
      load_element(warp, access, k, value, one, 1u << lane);
      LaneMask& mark = warp.undefined_of(access.parts[k]);
      mark = (mark & ~(1u << lane)) | (LaneMask{undefined} << lane);
    }
  });
}

void store_lanes(Warp& warp, const Instruction& in, const MemoryAccess& access, PtxSpace space,
                 const std::uint64_t* addresses, LaneMask active) {
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  for_lanes(active, [&](int lane) {
    std::byte value[64];
    bool undefined = false;
    AccessShape one;
    one.offset[lane] = 0;
    for (int k = 0; k < access.elements; ++k) {
      store_element(warp, access, k, value, one, 1u << lane);
      undefined |= ((warp.undefined_of(access.parts[k]) >> lane) & 1) != 0;
    }
    write_lane(warp, in, space, addresses[lane], lane, bytes, value, undefined, access.synchronizing);
  });
}

// All threads use the same local address, as arrays on the stack nearly always do: a row of 32 words.
bool local_row(Warp& warp, const MemoryAccess& access, const std::uint64_t* addresses, LaneMask active, bool store) {
  if (access.element_bytes != 4 || active != all_lanes) return false;
  std::uint64_t address = addresses[0];
  std::uint64_t differ = 0;
  for (int lane = 1; lane < warp_lanes; ++lane) differ |= addresses[lane] ^ address;
  std::uint64_t top = std::uint64_t{warp.frame->local_base} + warp.frame->function->local_bytes;
  auto bytes = static_cast<std::uint32_t>(4 * access.elements);
  if (differ != 0 || address % bytes != 0 || address > top || bytes > top - address) return false;
  for (int k = 0; k < access.elements; ++k) {
    if (access.parts[k] == no_slot) continue;
    if (access.register_bytes[k] != 4) return false;
  }
  for (int k = 0; k < access.elements; ++k) {
    if (access.parts[k] == no_slot) continue;
    std::size_t row = local_index(address + 4u * static_cast<unsigned>(k), 0);
    LaneMask& mark = warp.undefined_of(access.parts[k]);
    std::byte* shadow = warp.local_defined.data() + row;
    if (store) {
      std::memcpy(warp.local_data.data() + row, warp.lanes<std::uint32_t>(access.parts[k]), 4 * warp_lanes);
      std::memset(shadow, 1, 4 * warp_lanes);
      for_lanes(mark, [&](int lane) { std::memset(shadow + 4 * lane, 0, 4); });
    } else {
      std::memcpy(warp.lanes<std::uint32_t>(access.parts[k]), warp.local_data.data() + row, 4 * warp_lanes);
      mark = 0;
      if (!all_defined(shadow, 4 * warp_lanes))
        for (int lane = 0; lane < warp_lanes; ++lane) mark |= LaneMask{!all_defined(shadow + 4 * lane, 4)} << lane;
    }
  }
  return true;
}

bool touch_lanes(Warp& warp, Allocation& allocation, const AccessShape& shape, LaneMask active, std::uint32_t bytes,
                 bool store) {
  if (shape.uniform || (shape.run && is_run(active))) {
    const std::uint64_t lanes = shape.uniform ? 1 : static_cast<unsigned>(__builtin_popcount(active));
    return touch(warp, allocation, shape.offset[__builtin_ctz(active)], lanes * bytes, store);
  }
  bool ok = true;
  for_lanes(active, [&](int lane) { ok = ok && touch(warp, allocation, shape.offset[lane], bytes, store); });
  return ok;
}

// How many lanes are not in the cache line that this instruction touched last for them: threads that walk along a row
// each come to a new one every sixteenth time.
unsigned new_lines(std::array<std::uint32_t, warp_lanes>& last, const AccessShape& shape, LaneMask active) {
  constexpr unsigned line_bits = 6;
  unsigned count = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const std::uint32_t line = shape.offset[lane] >> line_bits;
    const std::uint32_t is_active = (active >> lane) & 1;
    count += is_active & std::uint32_t{line != last[lane]};
    last[lane] = is_active != 0 ? line : last[lane];
  }
  return count;
}

template <bool store>
void access_space(Warp& warp, const Instruction& in, const MemoryAccess& access, PtxSpace space,
                  const LaneAddresses& where, LaneMask active) {
  auto lane_by_lane = [&] {
    std::uint64_t addresses[warp_lanes];
    for (int lane = 0; lane < warp_lanes; ++lane) addresses[lane] = where.of(lane);
    if (space == PtxSpace::local && local_row(warp, access, addresses, active, store)) return;
    if constexpr (store)
      store_lanes(warp, in, access, space, addresses, active);
    else
      load_lanes(warp, in, access, space, addresses, active);
  };
  if (space == PtxSpace::local) {
    lane_by_lane();
    return;
  }
  AccessRange range;
  range.bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  MemoryView view;
  if (space == PtxSpace::shared) {
    view = view_of_shared(warp);
  } else if (space == PtxSpace::param) {
    view = view_of_parameters(warp);
  } else {
    MemoryView& cached = warp.worker->caches[access.cache];
    std::uint64_t address = where.of(__builtin_ctz(active));
    if (address - cached.base >= cached.bytes) {
      Allocation* found = warp.worker->launch->memory->find(address);
      if (found == nullptr) {
        lane_by_lane();
        return;
      }
      cached = view_of(warp, *found);
      warp.worker->lines[access.cache].fill(~std::uint32_t{0});  // those of another array say nothing
    }
    view = cached;
  }
  AccessShape shape;
  range.base = view.base;
  range.limit = view.bytes - range.bytes;
  if (view.bytes >= range.bytes) warp.worker->find_shape(where, active, range, shape);
  if (!shape.inside || !shape.aligned) {
    lane_by_lane();
    return;
  }
  if (!shape.run && !shape.uniform) {
    const auto lanes = static_cast<unsigned>(__builtin_popcount(active));
    warp.worker->unpaid.units += work_cost::scattered_lane * lanes;
    if (view.bytes > work_cost::cached_bytes)
      warp.worker->unpaid.units += (work_cost::cold_scattered_lane - work_cost::scattered_lane) *
                                   new_lines(warp.worker->lines[access.cache], shape, active);
  }
  if (view.allocation != nullptr && view.allocation->lazy != nullptr &&
      !touch_lanes(warp, *view.allocation, shape, active, range.bytes, store))
    return;
  if constexpr (store)
    store_to(warp, in, access, view, shape, active);
  else
    load_from(warp, in, access, view, shape, active);
}

template <bool store>
void access_memory(Warp& warp, const Instruction& in, LaneMask active) {
  const MemoryAccess& access = warp.frame->function->memory[in.detail];
  if (access.acquire) acquire(warp, access.space != PtxSpace::shared);
  if (access.release) release(warp, access.space != PtxSpace::shared);
  LaneMask undefined = warp.undefined_of(in.source[0]) & active;
  if (undefined != 0)
    report_undefined(warp, FindingKind::uninitialised_address, in, undefined, "the address of an access");
  LaneAddresses where{warp.registers + in.source[0], access.wide_base, static_cast<std::uint64_t>(in.immediate)};
  if (access.space != PtxSpace::generic) {
    access_space<store>(warp, in, access, access.space, where, active);
    return;
  }
  // Generic: the lanes of each window together.
  alignas(64) std::uint64_t addresses[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane) addresses[lane] = where.of(lane);
  LaneAddresses rebased{reinterpret_cast<const std::byte*>(addresses), true, 0};
  for (LaneMask left = active; left != 0;) {
    std::uint64_t window = addresses[__builtin_ctz(left)] >> window_shift;
    LaneMask same = 0;
    for_lanes(left, [&](int lane) { same |= LaneMask{(addresses[lane] >> window_shift) == window} << lane; });
    left &= ~same;
    PtxSpace space = PtxSpace::global;
    for_lanes(same, [&](int lane) { space = space_of_address(addresses[lane]); });
    access_space<store>(warp, in, access, space, rebased, same);
  }
}

}  // namespace

void run_load(Warp& warp, const Instruction& in, LaneMask active) { access_memory<false>(warp, in, active); }
void run_store(Warp& warp, const Instruction& in, LaneMask active) { access_memory<true>(warp, in, active); }

void run_load_parameter(Warp& warp, const Instruction& in, LaneMask active) {
  const MemoryAccess& access = warp.frame->function->memory[in.detail];
  AccessShape shape;
  shape.uniform = true;
  shape.offset[__builtin_ctz(active)] = 0;
  const std::byte* data = warp.worker->launch->parameters.data() + in.immediate;
  for (int k = 0; k < access.elements; ++k) {
    if (access.parts[k] == no_slot) continue;
    load_element(warp, access, k, data, shape, active);
    warp.undefined_of(access.parts[k]) &= ~active;
  }
}

}  // namespace kw
